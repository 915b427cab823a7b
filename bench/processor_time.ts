/** The clock ticks of a second in /proc, the same on every Linux. */
const TICKS = 100;

interface Times {
  readonly parent: number;
  /** Its own, in seconds. */
  readonly own: number;
  /** That of its children that have ended, in seconds. */
  readonly children: number;
}

/** Whether processor times of single processes can be read here: on Linux alone. */
export function canReadProcessorTime(): boolean {
  return Deno.build.os === "linux";
}

/** The processor time that a process has used, its threads included, in seconds. */
export function processorTime(pid: number): number {
  return times(pid)!.own;
}

/** The processor time of a server process and of its children, those included that have ended, in seconds. */
export function processorTimeOfServer(pid: number): number {
  const server = times(pid)!;
  let sum = server.own + server.children;
  for (const { name } of Deno.readDirSync("/proc")) {
    const child = /^\d+$/.test(name) ? times(Number(name)) : null;
    if (child?.parent === pid) sum += child.own;
  }
  return sum;
}

/** Null when the process has gone. */
function times(pid: number): Times | null {
  try {
    const text = Deno.readTextFileSync(`/proc/${pid}/stat`);
    // The name in parentheses may hold spaces; what is behind it is counted from the third field on.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const seconds = (index: number): number => (Number(fields[index]) + Number(fields[index + 1])) / TICKS;
    return { parent: Number(fields[1]), own: seconds(11), children: seconds(13) };
  } catch {
    return null;
  }
}
