import { type Group, type Line, realmName } from "./host_group.ts";
import type { HostProcess } from "./host_process.ts";

/** How long what has no process of its own waits until one of another group takes no more work for its sake, in ms. */
export const YIELD_MS = 1000;

/** The processes there are, counted by line against its bound. Who waits for a place gets one in the end. */
export class HostLines {
  #max: Readonly<Record<Line, number>>;
  #groups = new Map<string, Group>();
  #groupOf = new Map<HostProcess, Group>();

  /** At most so many processes in each line. */
  constructor(max: Readonly<Record<Line, number>>) {
    this.#max = max;
  }

  /** How many processes there are. */
  get size(): number {
    return this.#groupOf.size;
  }

  /** The processes with their groups, as they are now. */
  entries(): [HostProcess, Group][] {
    return [...this.#groupOf];
  }

  /** The group of a process. */
  groupOf(host: HostProcess): Group | undefined {
    return this.#groupOf.get(host);
  }

  /** A process has started. */
  add(host: HostProcess, like: Group): void {
    const group = this.#groups.get(like.name) ?? like;
    this.#groups.set(group.name, group);
    group.hosts.add(host);
    this.#groupOf.set(host, group);
  }

  /** A process has ended. A group without one is forgotten. */
  remove(host: HostProcess): Group | undefined {
    const group = this.#groupOf.get(host);
    if (group === undefined) return undefined;
    this.#groupOf.delete(host);
    group.hosts.delete(host);
    if (group.hosts.size === 0) this.#groups.delete(group.name);
    return group;
  }

  /** A process of the group that takes one more attempt. */
  usable({ name, single }: Group): HostProcess | undefined {
    for (const host of this.#groups.get(name)?.hosts ?? []) {
      if (!host.retiring && host.yieldsSince === 0 && (!single || host.isFree)) return host;
    }
    return undefined;
  }

  /** How many more processes the group may have now. */
  places(group: Group): number {
    const places = this.#max[group.line] - this.#inLine(group.line).length;
    return Math.max(0, Math.min(places, this.#ownMax(group) - this.#inRealm(group).length));
  }

  /** The process that has been idle for longest ends, so that the group may have one. It is placed when that has ended. */
  makeRoom(group: Group): void {
    let longest: HostProcess | undefined;
    for (const host of this.#rivals(group)) {
      // One at a time: this one's place is free in a moment.
      if (host.isKilled) return;
      if (!host.isFree) continue;
      if (longest === undefined || host.idleSince < longest.idleSince) longest = host;
    }
    longest?.kill("idle");
  }

  /**
   * A group has waited for a process long enough: the one that has run for longest takes no more work, so that its place
   * is free when what runs in it has ended. No more than half of them at once, and one more each second.
   */
  makeYield(group: Group, now: number): void {
    const hosts = this.#rivals(group);
    const yielding = hosts.filter((host) => host.yieldsSince > 0 || host.retiring);
    if (yielding.length >= Math.max(1, hosts.length / 2)) return;
    if (yielding.some((host) => now - host.yieldsSince < YIELD_MS)) return;
    // Those that have just started have not had their turn.
    const oldest = hosts.find((host) => !yielding.includes(host) && now - host.startedAt >= YIELD_MS);
    if (oldest !== undefined) oldest.yieldsSince = now;
  }

  /** Nobody waits in a line any more. */
  endYielding(line: Line): void {
    for (const host of this.#inLine(line)) host.yieldsSince = 0;
  }

  /** Those whose end would make a place for the group. */
  #rivals(group: Group): HostProcess[] {
    const own = this.#inRealm(group);
    return own.length >= this.#ownMax(group) ? own : this.#inLine(group.line);
  }

  /** No kind's calls take the places of all others. */
  #ownMax({ line }: Group): number {
    return line === "calls" ? Math.ceil(this.#max[line] / 2) : Infinity;
  }

  #inLine(line: Line): HostProcess[] {
    return [...this.#groupOf].filter(([, group]) => group.line === line).map(([host]) => host);
  }

  #inRealm({ line, confinement }: Group): HostProcess[] {
    const realm = realmName(confinement.realm);
    return [...this.#groupOf].filter(([, group]) =>
      group.line === line && realmName(group.confinement.realm) === realm
    ).map(([host]) => host);
  }
}
