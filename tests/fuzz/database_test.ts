import { databaseProperties } from "./database/mod.ts";

for (const { name, runs, check } of databaseProperties) Deno.test(name, () => check(runs));
