import { LIMIT } from "../contestants.ts";
import { interleave } from "../interleave.ts";
import { canReadProcessorTime, processorTime, processorTimeOfServer } from "../processor_time.ts";
import type { Figure } from "../result.ts";
import type { Scenario } from "../scenario.ts";

const CHUNK = 5000;
const CAP_MS = 60_000;
const MICROSECONDS = 1e6;
const BURIED_MS = 500;

/** Whose processor time a job takes. It says what limits a rate, and it is told rightly also on a busy machine. */
export const processor: Scenario = {
  name: "processor",
  async run(bench) {
    const jobs = bench.jobs(30_000);
    const rounds = bench.rounds(3);
    const server = bench.serverPid;
    const { contestants, skipped } = await bench.present((one) => !one.isDefault && !one.needsRedis);
    let figures: Figure[] = [];
    if (server === null || !canReadProcessorTime()) {
      skipped.push("all: processor times can be read of a server on this machine only, and on Linux");
    } else {
      const measured = await interleave(
        bench,
        rounds,
        "µs",
        contestants,
        (contestant) =>
          bench.with(contestant, {}, async ({ peer }) => {
            await peer.call("bulk", { jobs, chunk: CHUNK });
            await bench.sql`analyze`;
            const before = [processorTimeOfServer(server), processorTime(peer.pid)] as const;
            const { done } = (await peer.call<{ done: number }>("drain", { jobs, capMs: CAP_MS }))!;
            // Connections that were closed are the server's own children until it has buried them.
            await new Promise((resolve) => setTimeout(resolve, BURIED_MS));
            return {
              PostgreSQL: (processorTimeOfServer(server) - before[0]) / done * MICROSECONDS,
              "worker process": (processorTime(peer.pid) - before[1]) / done * MICROSECONDS,
            };
          }),
      );
      figures = measured.figures;
      skipped.push(...measured.skipped);
    }
    return {
      scenario: "processor",
      title: "Processor time a no-op job, from claim to end",
      better: "less",
      conditions: `${jobs} jobs, ${rounds} rounds`,
      reference: LIMIT,
      figures,
      skipped,
      targets: [],
    };
  },
};
