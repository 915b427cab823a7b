import { assert, assertEquals } from "@std/assert";
import type { Claimed } from "../ports/store.ts";
import { ClaimedBytes } from "./_claimed_bytes.ts";

const MIB = 1024 * 1024;

function jobs(count: number, bytes: number): Claimed[] {
  return Array.from({ length: count }, (_, index) => ({
    id: String(index),
    run: 1,
    kind: "k",
    attempt: 1,
    maxAttempts: 3,
    args: "x".repeat(bytes),
    alone: false,
  }));
}

Deno.test("ClaimedBytes lets 16 MiB be claimed at once: large args count at once, small ones by and by", () => {
  const bytes = new ClaimedBytes();
  assertEquals(bytes.most, 256);
  bytes.note([]);
  bytes.note(jobs(100, 50));
  assert(bytes.most > 256);
  bytes.note(jobs(2, MIB));
  assertEquals(bytes.most, 16);
  bytes.note(jobs(1, 50 * MIB));
  assertEquals(bytes.most, 1);
  for (let claim = 0; claim < 5; claim++) bytes.note(jobs(10, 50));
  assert(bytes.most < 10, `${bytes.most}`);
  for (let claim = 0; claim < 50; claim++) bytes.note(jobs(10, 50));
  assert(bytes.most > 5000, `${bytes.most}`);
});
