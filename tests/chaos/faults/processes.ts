import { pause } from "../../conformance/eventually.ts";
import { descendants } from "../../programs/program.ts";
import { type Member, tryKill } from "../fleet.ts";
import type { JournalWriter } from "../journal.ts";
import type { Random } from "../random.ts";
import { type Fault, outageMs } from "./target.ts";

/** What happens to worker programs, to their host processes and supervisors. */
export const PROCESS_FAULTS: readonly Fault[] = [
  {
    name: "worker killed",
    weight: 5,
    async make({ members, journal }, random) {
      await Promise.resolve();
      const member = victim(members, random);
      if (member !== null && member.worker !== null) kill(member, member.worker, journal);
    },
  },
  {
    name: "leader killed",
    weight: 3,
    async make({ members, sql, schema, journal }) {
      const rows = await sql.unsafe(
        `select worker.name from ${schema}.leader join ${schema}.worker on worker.id = leader.owner`,
      );
      const pid = Number(String(rows[0]?.name).split(":").at(-1));
      const member = members.find(({ worker }) => worker === pid);
      if (member !== undefined) kill(member, pid, journal);
    },
  },
  {
    name: "worker frozen",
    weight: 5,
    async make({ members, journal }, random) {
      const pid = victim(members, random)?.worker ?? null;
      if (pid !== null) await freeze(pid, outageMs(random), journal);
    },
  },
  {
    name: "host process frozen",
    weight: 2,
    async make({ members, journal }, random) {
      const pid = await hostOf(random.pick(members), random);
      if (pid !== null) await freeze(pid, outageMs(random), journal);
    },
  },
  {
    name: "host process killed",
    weight: 4,
    async make({ members, journal }, random) {
      const pid = await hostOf(random.pick(members), random);
      if (pid === null) return;
      journal.write({ what: "kill", pid, by: "injector" });
      tryKill(pid, "SIGKILL");
    },
  },
  {
    name: "worker stopped in order",
    weight: 3,
    async make({ members }, random) {
      await Promise.resolve();
      victim(members, random)?.stopOnce();
    },
  },
  {
    name: "supervisor killed",
    weight: 2,
    async make({ members }, random) {
      await Promise.resolve();
      victim(members, random)?.killSupervisor();
    },
  },
];

/**
 * Whom a fault hits. One that has only begun to start is mostly spared: on a slow machine that takes so long that nothing
 * else would ever be hit.
 */
function victim(members: readonly Member[], random: Random): Member | null {
  const member = random.pick(members);
  return member.isUp || random.chance(0.2) ? member : null;
}

function kill(member: Member, pid: number, journal: JournalWriter): void {
  member.expect(pid);
  journal.write({ what: "kill", pid, by: "injector" });
  tryKill(pid, "SIGKILL");
}

async function freeze(pid: number, ms: number, journal: JournalWriter): Promise<void> {
  journal.write({ what: "out", pid, why: "frozen" });
  tryKill(pid, "SIGSTOP");
  await pause(ms);
  journal.write({ what: "back", pid });
  tryKill(pid, "SIGCONT");
}

async function hostOf(member: Member, random: Random): Promise<number | null> {
  const hosts = member.worker === null ? [] : await descendants(member.worker);
  return hosts.length === 0 ? null : random.pick(hosts);
}
