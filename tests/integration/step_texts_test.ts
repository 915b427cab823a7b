/** What a step of a migration does never changes: databases that have made it are as it was. */
import { assert, assertEquals } from "@std/assert";
import { JOB_STEPS, JOBS_PART } from "../../adapters/postgres/schema/schema.ts";
import { OUTBOX } from "../../events/_schema.ts";
import { WEBHOOKS } from "../../webhooks/mod.ts";

const STEPS = new URL("../../adapters/postgres/schema/steps/", import.meta.url);

/** Digests of `up` and `down`, in the order of the steps. A new step adds one, and no other changes. */
const MADE: Readonly<Record<string, readonly string[]>> = {
  jobs: [
    "014a4f91d088e621",
    "303dc9c0b5e59916",
    "c078ba85f83a6e18",
    "ac0135c767e0fe0f",
    "affcddb847406aa7",
    "aed5619b57684897",
    "595736e2806cd9cb",
    "2582ad3ff34befb3",
    "f0dcf80b188d3e92",
    "14fd124c65055835",
    "5322651b0b9a200f",
    "c243751612f80780",
    "4482d6705dd1e817",
    "8b3067b7d29b8c8e",
    "4a2c926042391314",
    "dd105bee8e52fa86",
    "9e3140e972b3397f",
    "5da2197e8428a7ef",
    "fa6f80a6680797e6",
  ],
  outbox: [
    "0625025c674da4c2",
    "a32cc6bad41178f1",
    "6cb801d50b403828",
    "87f7a7827aee9881",
    "c14a5613737f45ba",
    "9491a15479cb9f6e",
  ],
  webhooks: [
    "abae64f8c2984ba0",
    "b032ad4bf51ad2b0",
    "1e736720eacd7568",
    "dab0c9ddd5accf7e",
  ],
};

Deno.test("the text of a step is what it was when it was made", async () => {
  const parts = [{ part: JOBS_PART, steps: JOB_STEPS }, OUTBOX, WEBHOOKS];
  const found = await Promise.all(
    parts.map(async ({ part, steps }) =>
      [part, await Promise.all(steps.map(({ up, down }) => digest(`${up}\0${down}`)))] as const
    ),
  );
  assertEquals(Object.fromEntries(found), MADE);
});

Deno.test("steps take nothing from the statements of today", async () => {
  let seen = 0;
  for await (const { name } of Deno.readDir(STEPS)) {
    const text = await Deno.readTextFile(new URL(name, STEPS));
    for (const [, from] of text.matchAll(/^(?:import|export) .*?from "([^"]+)"/gms)) {
      assert(/^\.\/\w+\.ts$/.test(from!), `${name} imports ${from}`);
    }
    seen++;
  }
  assert(seen > 10, `${seen} files`);
  const list = await Deno.readTextFile(new URL("../schema.ts", STEPS));
  const taken = [...list.matchAll(/from "([^"]+)"/g)].map(([, from]) => from!)
    .filter((from) => !from.startsWith("./steps/"));
  assertEquals(taken, ["../../../ports/database.ts", "./migrate.ts"]);
});

async function digest(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return bytes.toHex().slice(0, 16);
}
