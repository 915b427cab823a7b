import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import { back, gate, newJob, until, withStore } from "../fixture_test.ts";

Deno.test("jobs are claimed by priority, then by age, and their run and attempt are raised", () =>
  withStore(async ({ store, claim }) => {
    const inserted = await store.insert([
      newJob({ priority: 4 }),
      newJob({ priority: 2 }),
      newJob({ priority: 1 }),
      newJob({ priority: 2 }),
    ]);
    const ids = inserted.map(({ id }) => id);
    const claimed = [...await claim(3), ...await claim(3)];
    assertEquals(claimed.map(({ id }) => id), [ids[2], ids[1], ids[3], ids[0]]);
    assertEquals(claimed.map(({ run, attempt }) => [run, attempt]), [[1, 1], [1, 1], [1, 1], [1, 1]]);
  }));

Deno.test("a process that is not on the record gets nothing", () =>
  withStore(async ({ store }) => {
    await store.insert([newJob()]);
    const stranger = crypto.randomUUID();
    assertEquals(await store.claim({ owner: stranger, queue: "q", limit: 1, free: 1 }), []);
  }));

Deno.test("a job that is not due is not claimed, and nextDue says when it is", () =>
  withStore(async ({ store, claim }) => {
    const runAt = new Date(Date.now() + 60_000).toISOString();
    await store.insert([newJob({ runAt, priority: 3 })]);
    assertEquals(await claim(), []);
    const dueMs = await store.nextDue("q");
    assert(dueMs !== null && dueMs > 50_000 && dueMs <= 60_000, String(dueMs));
    assertEquals(await store.nextDue("other"), null);
  }));

Deno.test("concurrent claimers never get one job twice", () =>
  withStore(async ({ store, owner }) => {
    await store.insert(Array.from({ length: 500 }, () => newJob()));
    const claims = await Promise.all(
      Array.from({ length: 10 }, () => store.claim({ owner, queue: "q", limit: 40, free: 0 })),
    );
    const ids = claims.flat().map(({ id }) => id);
    assertEquals(new Set(ids).size, ids.length);
  }, { poolSize: 12 }));

Deno.test("a transaction that commits late is found behind the position, within the pause of the looks", () =>
  withStore(async ({ store, claim }) => {
    const [written, commit] = [gate(), gate()];
    const late = store.database.transaction(async (tx) => {
      await store.insert([newJob({ kind: "late" })], tx);
      written.open();
      await commit.opened;
    });
    await written.opened;
    await store.insert([newJob(), newJob()]);
    assertEquals((await claim()).length, 2);
    commit.open();
    await late;
    const found: string[] = [];
    await until("the late job is claimed", async () => {
      found.push(...(await claim()).map(({ kind }) => kind));
      assert(found.length > 0 || await store.nextDue("q") !== null, "no look is owed");
      return found.length > 0;
    });
    assertEquals(found, ["late"]);
  }));

Deno.test("many jobs of a transaction that commits late are claimed without a pause between the batches", () =>
  withStore(async ({ store, claim, finish }) => {
    const [written, commit] = [gate(), gate()];
    const late = store.database.transaction(async (tx) => {
      await store.insert(Array.from({ length: 2000 }, () => newJob()), tx);
      written.open();
      await commit.opened;
    });
    await written.opened;
    await store.insert([newJob()]);
    await finish(await claim(10));
    commit.open();
    await late;
    const begun = performance.now();
    let done = 0;
    await until("all are claimed", async () => {
      for (let jobs = await claim(10); jobs.length > 0; jobs = await claim(10)) {
        await finish(jobs);
        done += jobs.length;
      }
      return done === 2000;
    });
    // One batch per look would take 20 s.
    assertLessOrEqual(performance.now() - begun, 8000);
  }));

Deno.test("what falls due between a claim and the question after it is due at once, and only until the next claim", () =>
  withStore(async ({ store, claim }) => {
    assertEquals(await claim(), []);
    const [held, letGo] = [gate(), gate()];
    const [job] = await store.insert([newJob()]);
    const holding = store.database.transaction(async (tx) => {
      await tx.unsafe("select from {schema}.job where id = $1::text::bigint for update", [job!.id]);
      held.open();
      await letGo.opened;
    });
    await held.opened;
    try {
      assertEquals(await store.nextDue("q"), 0);
      await until(
        "no look is owed",
        async () => (await claim()).length === 0 && await store.nextDue("q") === null,
      );
    } finally {
      letGo.open();
      await holding;
    }
  }));

Deno.test("later branches of a claim are not run when an earlier one fills it, and no branch reads rows in vain", () =>
  withStore(async ({ store, claim, finish }) => {
    const future = new Date(Date.now() + 86_400_000).toISOString();
    await store.insert(Array.from({ length: 3000 }, () => newJob({ runAt: future })));
    await store.insert(Array.from({ length: 1000 }, () => newJob()));
    for (let turn = 0; turn < 8; turn++) await finish(await claim(100));
    await store.insert(Array.from({ length: 200 }, () => newJob({ priority: 1 })));
    const plan = await explainClaim(store, 100);
    const scans = plan.filter((node) => node["Index Name"] === "job_ready");
    assertEquals(scans.map((node) => node["Actual Loops"]), [1, 0, 0, 0]);
    assertEquals(scans[0]!["Actual Rows"], 100);
    assert(!plan.some((node) => node["Node Type"] === "Seq Scan" && node["Relation Name"] === "job"));
    assertLessOrEqual(Number(scans[0]!["Rows Removed by Filter"] ?? 0), 0);
  }));

Deno.test("statistics that were gathered while the queue was empty do not slow a burst down", () =>
  withStore(async ({ store, claim, finish }) => {
    await store.database.query("analyze {schema}.job");
    await store.insert(Array.from({ length: 20_000 }, () => newJob()));
    const begun = performance.now();
    let done = 0;
    for (let jobs = await claim(500); jobs.length > 0; jobs = await claim(500)) {
      await finish(jobs);
      done += jobs.length;
    }
    assertEquals(done, 20_000);
    assertLessOrEqual(performance.now() - begun, 15_000);
    const plan = await explainClaim(store, 100);
    assert(!plan.some((node) => node["Node Type"] === "Seq Scan" && node["Relation Name"] === "job"));
  }));

Deno.test("under a snapshot that is held open elsewhere a claim from the position reads no dead rows", () =>
  withStore(async ({ store, claim, finish }) => {
    await store.insert(Array.from({ length: 10_000 }, () => newJob()));
    const [held, letGo] = [gate(), gate()];
    const snapshot = store.database.transaction(async (tx) => {
      await tx.unsafe("select count(*) from {schema}.job", []);
      held.open();
      await letGo.opened;
    }, { isolation: "repeatable read" });
    await held.opened;
    try {
      let last = "";
      for (let turn = 0; turn < 18; turn++) {
        const jobs = await claim(500);
        last = jobs.at(-1)!.id;
        await finish(jobs);
      }
      const [fromStart, fromPosition] = [
        await buffersOfClaim(store, null),
        await buffersOfClaim(store, last),
      ];
      assert(
        fromStart > 10 * fromPosition,
        `${fromStart} pages from the start, ${fromPosition} from the position`,
      );
    } finally {
      letGo.open();
      await snapshot;
    }
  }));

Deno.test("of the first jobs of a claim those that run alone do not count as started", () =>
  withStore(async ({ store, owner, claim }) => {
    const [alone, other] = (await store.insert([newJob(), newJob()])).map(({ id }) => id);
    await store.settle(
      (await claim()).map((job) => ({ ...back(job, "release"), alone: job.id === alone })),
    );
    const jobs = await claim();
    assertEquals(jobs.map((job) => job.alone).toSorted(), [false, true]);
    const { owners } = await store.beat(owner);
    const rescued = await store.rescue(owner, owners[0]!.beat, { message: "it died" });
    assertEquals([rescued.released, rescued.retried], [[alone], [other]]);
  }));

Deno.test("a job that lies aside is out of the line, and claimed by those alone that name its kind", () =>
  withStore(async ({ store, owner, claim }) => {
    await store.insert([newJob({ kind: "newer" })]);
    const [job] = await claim();
    await store.settle([back(job!, "put aside")]);
    assertEquals((await store.counts()).undeclared, 1);
    assertEquals(await claim(), []);
    assertEquals(await store.findAside(["other"]), []);
    assertEquals(await store.findAside(["other", "newer"]), [{ queue: "q", kind: "newer" }]);
    const request = { owner, queue: "q", limit: 10, free: 10 };
    assertEquals(await store.claim({ ...request, aside: "other" }), []);
    const [again] = await store.claim({ ...request, aside: "newer" });
    assertEquals([again?.id, again?.run, again?.attempt], [job!.id, 2, 1]);
    assertEquals((await store.counts()).undeclared, 0);
  }));

Deno.test("what lies aside is claimed once each at full claims, late ones included, and its due time is none of a far future", () =>
  withStore(async ({ store, owner, claim, finish }) => {
    await store.insert(Array.from({ length: 300 }, () => newJob({ kind: "newer" })));
    const jobs = await claim(300);
    await store.settle(jobs.slice(0, 200).map((job) => back(job, "put aside")));
    const first = jobs[0]!.id;
    assertEquals(new Date((await store.get(first))!.scheduledAt).getUTCFullYear() < 2100, true);
    assertEquals((await store.list({ limit: 300 })).every(({ scheduledAt }) => scheduledAt < "2100"), true);
    const take = () => store.claim({ owner, queue: "q", limit: 70, free: 70, aside: "newer" });
    const counts = [];
    for (let taken = await take(); taken.length > 0; taken = await take()) {
      counts.push(taken.length);
      await finish(taken);
    }
    assertEquals(counts, [70, 70, 60]);
    // Behind the place up to which it has been claimed.
    const late = jobs.slice(200);
    await store.settle(late.map((job) => back(job, "put aside")));
    await store.database.query(
      "update {schema}.job set scheduled_at = scheduled_at - interval '5 s' where undeclared and id % 2 = 0",
    );
    assertEquals((await take()).length + (await take()).length, 100);
    // As a program of before puts it aside, which no signal tells.
    await store.insert([newJob({ kind: "newer" })]);
    const [old] = await claim(1);
    await store.settle([back(old!, "put aside")]);
    await store.database.query(
      "update {schema}.job set scheduled_at = clock_timestamp() + interval '5 min' where undeclared",
    );
    assertEquals(await take(), []);
    await store.findAside(["newer"]);
    assertEquals((await take()).length, 1);
    assertEquals((await store.get(first))?.state, "completed");
    assertEquals((await store.get(first))!.scheduledAt < "2100", true);
  }));

Deno.test("a job that lies aside is cancelled, and put back in line by a person, as any other that waits", () =>
  withStore(async ({ store, claim }) => {
    await store.insert([newJob({ kind: "newer" }), newJob({ kind: "newer" })]);
    const jobs = await claim();
    await store.settle(jobs.map((job) => back(job, "put aside")));
    assertEquals((await store.cancel(jobs[0]!.id)).result, "cancelled");
    assertEquals((await store.get(jobs[0]!.id))!.scheduledAt < "2100", true);
    await store.retry(jobs[1]!.id);
    assertEquals((await store.counts()).undeclared, 0);
    assertEquals((await claim()).map(({ id }) => id), [jobs[1]!.id]);
  }));

type PlanNode = Record<string, unknown>;

Deno.test("50,000 jobs that lie aside are read by no claim but their own, and that reads no more of them than it takes", () =>
  withStore(async ({ store }) => {
    await store.insert(Array.from({ length: 200 }, () => newJob()));
    const before = pagesOf(await explainClaim(store, 10), "job_ready");
    await store.database.query(`
      insert into {schema}.job (scheduled_at, claimed_at, max_attempts, priority, undeclared, kind, queue, args)
      select now() + interval '1000 years', now(), 3, 1 + n % 4, true, 'foreign', 'q', '{}'
      from generate_series(1, 50000) as n`);
    // A larger index is a page or two deeper.
    const after = pagesOf(await explainClaim(store, 10), "job_ready");
    assertLessOrEqual(after, before + 8);
    const plan = await explainClaim(store, 10, "foreign");
    const scans = plan.filter((node) =>
      node["Index Name"] === "job_aside" && Number(node["Actual Loops"]) > 0
    );
    assertEquals(scans.map((node) => [node["Actual Rows"], node["Rows Removed by Filter"] ?? 0]), [[10, 0]]);
    assertLessOrEqual(pagesOf(plan, "job_aside"), 40);
  }));

/** How many pages the scans of an index touched. */
function pagesOf(plan: readonly PlanNode[], index: string): number {
  return plan.filter((node) => node["Index Name"] === index)
    .reduce((sum, node) => sum + Number(node["Shared Hit Blocks"]) + Number(node["Shared Read Blocks"]), 0);
}

async function explainClaim(store: StoreOf, limit: number, aside?: string): Promise<PlanNode[]> {
  const nodes: PlanNode[] = [];
  await store.database.transaction(async (tx) => {
    const { CLAIM, CLAIM_ASIDE } = await import("./claim_sql.ts");
    const owner = String((await tx.unsafe("select id from {schema}.worker", []))[0]?.id);
    const start = ["-infinity", "0"];
    const starts = [...start, ...start, ...start, ...start];
    const [row] = await tx.unsafe(
      `explain (analyze, buffers, format json) ${aside === undefined ? CLAIM : CLAIM_ASIDE}`,
      [owner, "q", limit, 0, "0", ...starts, ...(aside === undefined ? [] : [aside, "0", ...starts])],
    );
    const text = row!["QUERY PLAN"];
    collect((typeof text === "string" ? JSON.parse(text) : text)[0].Plan, nodes);
  });
  return nodes;
}

function collect(node: PlanNode, into: PlanNode[]): void {
  into.push(node);
  for (const child of (node.Plans ?? []) as PlanNode[]) collect(child, into);
}

async function buffersOfClaim(store: StoreOf, afterId: string | null): Promise<number> {
  const at = afterId === null ? "-infinity" : (await store.get(afterId))!.scheduledAt;
  let pages = 0;
  await store.database.transaction(async (tx) => {
    const [row] = await tx.unsafe(
      `explain (analyze, buffers, format json)
        select id from {schema}.job
        where queue = 'q' and priority = 2 and state in ('pending', 'retryable')
          and scheduled_at <= statement_timestamp() and (scheduled_at, id) > ($1::text::timestamptz, $2::text::bigint)
        order by scheduled_at, id limit 10`,
      [at, afterId ?? "0"],
    );
    const text = row!["QUERY PLAN"];
    const plan = (typeof text === "string" ? JSON.parse(text) : text)[0].Plan;
    pages = Number(plan["Shared Hit Blocks"]) + Number(plan["Shared Read Blocks"]);
  });
  return pages;
}

type StoreOf = Parameters<Parameters<typeof withStore>[0]>[0]["store"];
