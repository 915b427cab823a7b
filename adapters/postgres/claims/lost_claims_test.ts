import { assertEquals, assertRejects } from "@std/assert";
import { keyRuleOf } from "../../../shared/key_rule.ts";
import { silentLog } from "../../../shared/log.ts";
import { back, newJob, withStore } from "../fixture_test.ts";
import { LostClaims } from "./lost_claims.ts";

Deno.test("of a claim whose answer was lost, jobs go back uncharged, and one that was called off ends", () =>
  withStore(async ({ store, owner, claim }) => {
    const inserted = await store.insert([newJob({ unique: true }), newJob(), newJob()]);
    const [calledOff, free, told] = inserted.map(({ id }) => id);
    const jobs = await claim();
    assertEquals(jobs.length, 3);
    assertEquals((await store.cancel(calledOff!)).result, "requested");
    const lost = new LostClaims(store.database, silentLog);
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
    const lost = new LostClaims(store.database, silentLog);
    lost.noteLost("q");
    await lost.release(owner, "q");
    const job = (await store.get(older!.id))!;
    assertEquals([job.state, job.errors.map((error) => error.class)], ["cancelled", ["superseded"]]);
    assertEquals((await claim()).map(({ id }) => id), [newer!.id]);
  }));

Deno.test("a job whose change the database refuses is not released, nor brought forward, and keeps no other from it", () =>
  withStore(async ({ store, owner, claim }) => {
    const ids = (await store.insert(Array.from({ length: 5 }, () => newJob()))).map(({ id }) => id);
    const jobs = await claim();
    await store.database.query(`
      create function {schema}.refuse() returns trigger language plpgsql as $$
      begin raise exception 'not this one'; end $$`);
    await store.database.query(`
      create trigger refuse before update on {schema}.job for each row when (new.id = ${ids[1]})
      execute function {schema}.refuse()`);
    const lost = new LostClaims(store.database, silentLog);
    lost.noteLost("q");
    await lost.release(owner, "q");
    const states = async () => await Promise.all(ids.map(async (id) => (await store.get(id))!.state));
    assertEquals(await states(), ["pending", "running", "pending", "pending", "pending"]);

    await store.database.query("drop trigger refuse on {schema}.job");
    await store.settle([back(jobs[1]!, "snooze", 60_000)]);
    await store.settle((await claim()).map((job) => back(job, "snooze", 60_000)));
    await store.database.query(`
      create trigger refuse before update on {schema}.job for each row when (new.id = ${ids[1]})
      execute function {schema}.refuse()`);
    assertEquals(await store.bringForward(ids), ["q", "q", "q", "q"]);
    await assertRejects(() => store.bringForward([ids[1]!]), Error, "not this one");
    assertEquals((await claim()).length, 4);
  }));
