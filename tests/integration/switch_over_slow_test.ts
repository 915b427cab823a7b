import { assert, assertEquals, assertLess } from "@std/assert";
import { createRuntime, type JobId, type Log, type PostgresRuntime } from "../../mod.ts";
import { eventually, pause } from "../conformance/eventually.ts";
import { findStandbyMaker, type Replication, ServerPair } from "./support/server_pair.ts";

const maker = findStandbyMaker();
/** Longer than any session outlives its server, and than the growing pauses of those who try again. */
const AGAIN_MS_MAX = 30_000;
/** What one process may say in a second, once the first words are said. Nothing that loops stays below it. */
const LINES_PER_SECOND_MAX = 5;

/** Two processes' worth of work on a pair of servers, and what they say. */
class Scene implements AsyncDisposable {
  lines = 0;
  readonly ran = new Set<number>();
  readonly runtimes: readonly PostgresRuntime[];

  private constructor(readonly pair: ServerPair) {
    const count = () => void this.lines++;
    const log: Log = { debug: () => {}, info: count, warn: count, error: count };
    this.runtimes = [1, 2].map(() =>
      createRuntime({
        url: pair.url,
        log,
        settings: { pollMs: 250, heartbeatMs: 500, lostAfterMs: 2000, leaseMs: 2000 },
        registrars: [{
          kinds: [{
            name: "note",
            queue: "default",
            maxAttempts: 5,
            timeout: 5000,
            backoff: () => 100,
            handler: (args) => void this.ran.add((args as { n: number }).n),
          }],
        }],
      })
    );
  }

  static async start(replication: Replication): Promise<Scene> {
    const scene = new Scene(await ServerPair.start(maker!, replication));
    await scene.runtimes[0]!.migrate();
    for (const runtime of scene.runtimes) await runtime.start();
    return scene;
  }

  /** Enqueues, and waits until the jobs have run. */
  async work(from: number, to: number): Promise<Map<number, JobId>> {
    const ids = new Map<number, JobId>();
    for (let n = from; n < to; n++) ids.set(n, await this.runtimes[n % 2]!.enqueue("note", { n }));
    await eventually(() => [...ids.keys()].every((n) => this.ran.has(n)), AGAIN_MS_MAX);
    return ids;
  }

  async isIdle(): Promise<boolean> {
    const { states } = await this.runtimes[0]!.overview();
    return states.pending + states.retryable + states.running === 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.runtimes.map((runtime) => runtime.stop()));
    await this.pair[Symbol.asyncDispose]();
  }
}

Deno.test({
  name: "a switch-over to a standby that had everything loses nothing that was acknowledged",
  ignore: maker === null,
  async fn() {
    await using scene = await Scene.start("synchronous");
    const ids = await scene.work(0, 100);
    const during = (async () => {
      for (let n = 100; n < 200; n++) {
        await scene.runtimes[n % 2]!.enqueue("note", { n }).then((id) => ids.set(n, id), () => {});
        await pause(20);
      }
    })();
    await scene.pair.switchOver(500);
    await during;
    for (const [n, id] of await scene.work(200, 210)) ids.set(n, id);
    await eventually(() => scene.isIdle(), AGAIN_MS_MAX);
    for (const [n, id] of ids) {
      assertEquals((await scene.runtimes[0]!.get(id))?.state, "completed", `job ${id}, number ${n}`);
    }
  },
});

Deno.test({
  name: "a switch-over to a standby that was behind loses what PostgreSQL lost, and nothing loops",
  ignore: maker === null,
  async fn() {
    await using scene = await Scene.start("asynchronous");
    const kept = await scene.work(0, 50);
    // What is replicated by now is on the standby; nothing after it is.
    await eventually(() => scene.isIdle(), AGAIN_MS_MAX);
    await scene.pair.untilStandbyHasAll();
    await scene.pair.cutStandbyOff();
    const lost = await scene.work(50, 100);
    await scene.pair.switchOver();
    await eventually(() => scene.runtimes[0]!.enqueue("note", { n: 100 }), AGAIN_MS_MAX);
    const after = await scene.work(101, 150);
    await eventually(() => scene.isIdle(), AGAIN_MS_MAX);
    for (const id of [...kept.values(), ...after.values()]) {
      assertEquals((await scene.runtimes[0]!.get(id))?.state, "completed", `job ${id}`);
    }
    // Numbers that were given to lost jobs may be given again, so what is there under them is another job.
    for (const [n, id] of lost) {
      const job = await scene.runtimes[0]!.get(id);
      assert(job === null || (job.args as { n: number }).n !== n, `job ${id} was lost with its server`);
    }
    const linesBefore = scene.lines;
    await pause(4000);
    assertLess(scene.lines - linesBefore, 4 * LINES_PER_SECOND_MAX);
  },
});
