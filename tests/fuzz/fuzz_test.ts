import { properties } from "./properties/mod.ts";

for (const { name, runs, check } of properties) Deno.test(name, () => check(runs));
