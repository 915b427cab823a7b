import { pause } from "../../conformance/eventually.ts";
import type { TcpProxy } from "../../integration/support/tcp_proxy.ts";
import type { Random } from "../random.ts";
import { type Fault, outageMs, type Target } from "./target.ts";

/** For so long at most the next answers of a connection are lost, in ms. */
const ANSWERS_MS = 1000;

/** What happens between programs and the database. */
export const CONNECTION_FAULTS: readonly Fault[] = [
  {
    name: "connections cut",
    weight: 5,
    make: (target, random) =>
      disturbSomebody(target, random, "its connections were cut", (proxy) => proxy.cut()),
  },
  {
    name: "answers lost",
    weight: 6,
    make: (target, random) =>
      disturbSomebody(target, random, "answers to it get lost", async (proxy) => {
        proxy.cutAtAnswer(random.integer(1, 5));
        await pause(ANSWERS_MS);
        proxy.cutAtAnswer(0);
      }),
  },
  {
    name: "connections stalled",
    weight: 5,
    make: ({ members }, random) =>
      random.pick(members).cutOff((proxy) => {
        proxy.freeze();
        return pause(outageMs(random));
      }),
  },
  {
    name: "connections refused",
    weight: 3,
    make: ({ members }, random) =>
      random.pick(members).cutOff((proxy) => {
        proxy.refuse();
        return pause(outageMs(random));
      }),
  },
  {
    name: "backends terminated",
    weight: 4,
    async make({ sql, journal }, random) {
      journal.write({ what: "disturbed", pid: null, why: "backends were terminated" });
      await sql.unsafe(`
        select pg_terminate_backend(pid)
        from (
          select pid from pg_stat_activity
          where backend_type = 'client backend' and pid <> pg_backend_pid()
          order by random()
          limit ${random.integer(1, 8)}
        ) as chosen`);
    },
  },
  {
    name: "pooler killed",
    weight: 4,
    isPossible: ({ pooler }) => pooler !== null,
    make: async ({ pooler }, random) => {
      const { bouncer, member } = pooler!;
      await member.cutOff(() => bouncer.restart(random.chance(0.5) ? 0 : outageMs(random)));
    },
  },
];

/** Breaks the connections of a worker program, or of the producers, whom nobody asks how they are. */
async function disturbSomebody(
  { members, proxy }: Target,
  random: Random,
  why: string,
  during: (proxy: TcpProxy) => void | Promise<void>,
): Promise<void> {
  const member = members[random.integer(0, members.length)];
  await (member === undefined ? during(proxy) : member.disturb(why, during));
}
