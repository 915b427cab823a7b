import { properties } from "./properties/mod.ts";
import { SLOW_TIMES } from "./property.ts";

for (const { name, runs, check } of properties) {
  Deno.test(`${name}, ${runs * SLOW_TIMES} draws`, () => check(runs * SLOW_TIMES));
}
