import { assertEquals, assertRejects } from "@std/assert";
import type { Claimed, ClaimRequest, Store } from "../ports/store.ts";
import { AsideKinds } from "./_aside_kinds.ts";

const REQUEST: ClaimRequest = { owner: "o", queue: "q", limit: 1, free: 1 };
const JOB: Claimed = { id: "1", run: 1, kind: "k", attempt: 1, maxAttempts: 1, args: "{}", alone: false };

Deno.test("AsideKinds: a kind is asked for until a claim finds no more, and again after one that failed", async () => {
  const asked: (string | undefined)[] = [];
  let answer: () => Promise<Claimed[]> = () => Promise.resolve([JOB]);
  const claim = (request: ClaimRequest) => {
    asked.push(request.aside);
    return answer();
  };
  const store = { claim } as unknown as Store;
  const kinds = new AsideKinds();
  kinds.add("k");
  await kinds.claim(store, REQUEST);
  assertEquals(kinds.size, 1);
  answer = () => Promise.reject(new Error("away"));
  await assertRejects(() => kinds.claim(store, REQUEST), Error, "away");
  assertEquals(kinds.size, 1);
  answer = () => Promise.resolve([]);
  await kinds.claim(store, REQUEST);
  assertEquals(kinds.size, 0);
  await kinds.claim(store, REQUEST);
  assertEquals(asked, ["k", "k", "k", undefined]);
});
