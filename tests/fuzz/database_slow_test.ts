import { databaseProperties } from "./database/mod.ts";
import { SLOW_TIMES } from "./property.ts";

for (const { name, runs, check } of databaseProperties) {
  Deno.test(`${name}, ${runs * SLOW_TIMES} draws`, () => check(runs * SLOW_TIMES));
}
