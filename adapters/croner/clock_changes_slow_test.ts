import { assertTicks, changesOf, HOUR_RULES } from "./reckoning_test.ts";

Deno.test("next() gives the ticks that a look at every minute finds, for all changes of all zones from 2024 to 2030", () => {
  const known = new Set<string>();
  for (const zone of Intl.supportedValuesOf("timeZone")) {
    for (const change of changesOf(zone, 2024, 2031)) {
      // Most zones of one country, and many of one continent, change together.
      const same = [change.atMs, change.beforeMs, change.afterMs].join();
      if (known.has(same)) continue;
      known.add(same);
      for (const rule of HOUR_RULES) assertTicks(rule, change);
    }
  }
});
