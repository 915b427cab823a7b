import { LIMIT, THREADS } from "../contestants.ts";
import type { Figure } from "../result.ts";
import type { Scenario } from "../scenario.ts";
import { seedHistory } from "../seed.ts";
import { ratio } from "./drain.ts";

const ROWS = 5_000_000;
const FULL = "with history";
const EMPTY = "empty";
const CHUNK = 5000;
const CAP_MS = 60_000;

/** Two places of each contestant, one with a long history, drained in turns. */
export const history: Scenario = {
  name: "history",
  async run(bench) {
    const jobs = bench.jobs(50_000);
    const rounds = bench.rounds();
    const rows = bench.options.quick ? ROWS / 1000 : ROWS;
    const { contestants } = await bench.present(({ name }) => name === LIMIT || name === THREADS);
    const figures: Figure[] = [];
    for (const contestant of contestants) {
      const values: Record<string, number[]> = { [EMPTY]: [], [FULL]: [] };
      await bench.with(contestant, {}, async (full) => {
        await seedHistory(bench, full.schema, rows);
        const empty = `${full.schema}_empty`;
        for (let round = 0; round < rounds; round++) {
          for (const [measure, schema] of [[EMPTY, empty], [FULL, full.schema]] as const) {
            await full.peer.call("close");
            if (measure === EMPTY) await bench.sql`drop schema if exists ${bench.sql(empty)} cascade`;
            await bench.sql`checkpoint`;
            await bench.open(full.peer, contestant, schema);
            await full.peer.call("bulk", { jobs, chunk: CHUNK });
            await bench.sql.unsafe(`analyze ${schema}.job`);
            const { seconds } =
              (await full.peer.call<{ seconds: number }>("drain", { jobs, capMs: CAP_MS }))!;
            values[measure]!.push(jobs / seconds);
            bench.options.say(
              `  round ${round + 1}  ${contestant.name}, ${measure}: ${Math.round(jobs / seconds)} jobs/s`,
            );
          }
        }
        await bench.sql`drop schema if exists ${bench.sql(empty)} cascade`;
      });
      for (const [measure, list] of Object.entries(values)) {
        figures.push({
          contestant: `${contestant.name}, ${measure}`,
          measure: "",
          unit: "jobs/s",
          values: list,
        });
      }
    }
    return {
      scenario: "history",
      title: "No-op jobs beside ended ones that are kept",
      better: "more",
      conditions: `${jobs} jobs, ${rows.toLocaleString("en-US")} ended ones, ${rounds} rounds`,
      reference: `${THREADS}, ${EMPTY}`,
      figures,
      skipped: [],
      targets: [
        ratio("threads, of the empty table's", figures, `${THREADS}, ${FULL}`, `${THREADS}, ${EMPTY}`, 0.95),
      ],
    };
  },
};
