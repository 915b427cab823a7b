import { THREADS } from "../contestants.ts";
import { interleave } from "../interleave.ts";
import { pause } from "../pause.ts";
import { figureOf } from "../result.ts";
import type { Scenario } from "../scenario.ts";
import { seedJobs } from "../seed.ts";

const SETTLED_MS = 5000;
const POLL_MS = 50;
const BURSTS = 5;

/** What the worker's process holds resident, in MB, before and after much work. */
export const memory: Scenario = {
  name: "memory",
  async run(bench) {
    const most = bench.jobs(500_000);
    // In equal bursts: what is asked is what is kept of jobs that have ended, not what a longer burst takes meanwhile.
    const burst = most / BURSTS;
    const rounds = bench.rounds(3);
    const settledMs = bench.options.quick ? 0 : SETTLED_MS;
    const { contestants } = await bench.present(({ name }) => name === THREADS);
    const { figures } = await interleave(bench, rounds, "MB", contestants, async (contestant) => {
      // Memory that earlier measurements left behind is not the worker's.
      await bench.end(contestant.name);
      return await bench.with(contestant, { threads: 2 }, async ({ peer, schema }) => {
        const measured: Record<string, number> = {};
        await peer.call("startWork");
        await pause(settledMs);
        measured["idle, 2 threads"] = await residentMb(peer.pid);
        for (let done = burst; done <= most; done += burst) {
          await seedJobs(bench, schema, burst);
          while ((await bench.sql.unsafe(`select from ${schema}.job limit 1`)).length > 0) {
            await pause(POLL_MS);
          }
          await pause(settledMs);
          measured[`after ${done} jobs`] = await residentMb(peer.pid);
        }
        await peer.call("stopWork");
        return measured;
      });
    });
    const after = (jobs: number): number => figureOf(figures, THREADS, `after ${jobs} jobs`);
    return {
      scenario: "memory",
      title: "Resident memory of the worker process",
      better: "less",
      conditions: `no-op jobs, ${burst} at a time, ${rounds} rounds`,
      reference: null,
      figures,
      skipped: [],
      targets: [
        { what: "idle, in MB", reached: figureOf(figures, THREADS, "idle, 2 threads"), atMost: 120 },
        {
          what: `growth from ${burst} to ${most} jobs, in MB`,
          reached: after(most) - after(burst),
          atMost: 10,
        },
      ],
    };
  },
};

async function residentMb(pid: number): Promise<number> {
  const { stdout } = await new Deno.Command("ps", { args: ["-o", "rss=", "-p", String(pid)] }).output();
  return Number(new TextDecoder().decode(stdout)) / 1024;
}
