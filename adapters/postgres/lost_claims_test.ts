import { assertEquals } from "@std/assert";
import { keyRuleOf } from "../../ports/key_rule.ts";
import { newJob, withStore } from "./fixture_test.ts";
import { LostClaims } from "./lost_claims.ts";

Deno.test("of a claim whose answer was lost, jobs go back uncharged, and one that was called off ends", () =>
  withStore(async ({ store, owner, claim }) => {
    const inserted = await store.insert([newJob({ unique: true }), newJob(), newJob()]);
    const [calledOff, free, told] = inserted.map(({ id }) => id);
    const jobs = await claim();
    assertEquals(jobs.length, 3);
    assertEquals((await store.cancel(calledOff!)).result, "requested");
    const lost = new LostClaims(store.database);
    lost.noteClaimed(owner, "q", jobs.filter(({ id }) => id === told));
    lost.noteLost("q");
    await lost.release(owner, "q");
    const states = await Promise.all(inserted.map(async ({ id }) => {
      const job = (await store.get(id))!;
      return [job.state, job.attempt];
    }));
    assertEquals(states, [["cancelled", 1], ["pending", 0], ["running", 1]]);
    assertEquals((await claim()).map(({ id }) => id), [free]);
    const [again] = await store.insert([newJob({ unique: true })]);
    assertEquals(again?.existed, false, "the key is free");
  }));

Deno.test("of a claim whose answer was lost, a job that a newer twin has superseded ends", () =>
  withStore(async ({ store, owner, claim }) => {
    const rule = keyRuleOf({ unique: { by: [] } })!;
    const [older] = await store.insert([newJob({ rule, unique: true })]);
    assertEquals((await claim()).length, 1);
    const [newer] = await store.insert([newJob({ rule, unique: true })]);
    const lost = new LostClaims(store.database);
    lost.noteLost("q");
    await lost.release(owner, "q");
    const job = (await store.get(older!.id))!;
    assertEquals([job.state, job.errors.map((error) => error.class)], ["cancelled", ["superseded"]]);
    assertEquals((await claim()).map(({ id }) => id), [newer!.id]);
  }));
