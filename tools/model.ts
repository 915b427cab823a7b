/**
 * Checks the models of the protocol exhaustively with spin (`deno task model`): every property holds, and each guard,
 * taken out, breaks one. Without spin or gcc it says so and ends well.
 *
 * @module
 */

interface Model {
  readonly name: string;
  /** Bounds under which it is checked, one after the other: all at once would be too many states. */
  readonly bounds: readonly string[];
  /** The guards, each with the bounds that are enough to show what it is for, and a part of the assertion that breaks. */
  readonly guards: readonly { readonly flag: string; readonly bounds: number; readonly breaks: string }[];
}

const MODELS: readonly Model[] = [
  {
    name: "queue",
    bounds: [
      "DEATHS=1 OUTS=0 OUTAGES=0 LOST_ANSWERS=0 RELEASES=1 IDS=4",
      "DEATHS=0 OUTS=1 OUTAGES=0 LOST_ANSWERS=0 RELEASES=1 IDS=4",
      "DEATHS=0 OUTS=0 OUTAGES=1 LOST_ANSWERS=1 RELEASES=1 IDS=3",
      "DEATHS=1 OUTS=0 OUTAGES=1 LOST_ANSWERS=0 RELEASES=0 LATE=0 IDS=4",
      "DEATHS=1 OUTS=1 OUTAGES=0 LOST_ANSWERS=0 RELEASES=0 LATE=0 IDS=5",
    ],
    guards: [
      { flag: "NO_FENCE", bounds: 1, breaks: "run_no==" },
      { flag: "FENCE_BY_ATTEMPT", bounds: 1, breaks: "run_no==" },
      { flag: "NO_FIT", bounds: 1, breaks: "my_run[me]" },
      { flag: "NO_BEAT_CHECK", bounds: 1, breaks: "my_run[me]" },
      { flag: "NO_NEW_WATCH", bounds: 2, breaks: "outage_only" },
      { flag: "NO_LOST_CLAIMS", bounds: 2, breaks: "calm_beats" },
      { flag: "NO_RESCUE", bounds: 0, breaks: "calm_beats" },
      { flag: "NO_MARK", bounds: 0, breaks: "began_run" },
      { flag: "CHARGE_ALL", bounds: 0, breaks: "mark_run" },
    ],
  },
  {
    name: "leader",
    bounds: ["P=2 CHANGES=0", "P=2 CHANGES=1"],
    guards: [
      { flag: "NO_LEASE_CHECK", bounds: 0, breaks: "renewed" },
      { flag: "NO_VERSION_CHECK", bounds: 0, breaks: "ran[now]" },
      { flag: "NO_WAIT_CHECK", bounds: 0, breaks: "waits" },
      { flag: "CHANGE_KEEPS_VERSION", bounds: 1, breaks: "due>changed" },
    ],
  },
  {
    name: "relay",
    bounds: ["P=2"],
    guards: [
      { flag: "CURSOR", bounds: 0, breaks: "jobs[" },
      { flag: "NO_LOCK", bounds: 0, breaks: "jobs[" },
      { flag: "MARK_APART", bounds: 0, breaks: "jobs[" },
    ],
  },
  {
    name: "twins",
    bounds: ["E=3"],
    guards: [
      { flag: "NO_LOCK", bounds: 0, breaks: "seen" },
      { flag: "NO_CONDITION", bounds: 0, breaks: "state[key]" },
    ],
  },
];

const DEPTH = "200000";
const folder = decodeURIComponent(new URL("../docs/model/", import.meta.url).pathname);

async function main(): Promise<number> {
  for (const program of ["spin", "gcc"]) {
    if (await isThere(program)) continue;
    say(`${program} is missing, the models are not checked. To get it: apt-get install spin gcc`);
    return 0;
  }
  const began = performance.now();
  let passed = 0;
  let failed = 0;
  await checkAll(tasks(), (isWell, line) => {
    say(`${isWell ? "ok    " : "FAILED"} ${line}`);
    if (isWell) passed++;
    else failed++;
  });
  say(`Tests on the models: ${passed} passed, ${failed} failed, 0 ignored`);
  say(`After ${Math.round((performance.now() - began) / 1000)} s.`);
  return failed === 0 ? 0 : 1;
}

/** One search: of all states, or for what breaks without a guard. */
interface Task {
  readonly name: string;
  readonly bounds: string;
  readonly guard?: { readonly flag: string; readonly breaks: string };
}

function tasks(): Task[] {
  return MODELS.flatMap(({ name, bounds, guards }) => [
    // The last bounds allow the most, and take the longest.
    ...bounds.toReversed().map((each) => ({ name, bounds: each })),
    ...guards.map((guard) => ({ name, bounds: bounds[guard.bounds]!, guard })),
  ]);
}

/** As many at a time as there are cores. Each is told as it ends. */
async function checkAll(tasks: Task[], tell: (isWell: boolean, line: string) => void): Promise<void> {
  const left = tasks.values();
  const worker = async () => {
    for (const { name, bounds, guard } of left) {
      const { broken, states } = await checkModel(name, bounds.split(" "), guard?.flag);
      if (guard === undefined) {
        tell(broken === null && states > 1, `${name} (${bounds}): ${broken ?? `all of ${states} states`}`);
      } else {
        const isWell = broken?.includes(guard.breaks) === true;
        tell(isWell, `${name} with ${guard.flag}: ${broken ?? "nothing breaks"}`);
      }
    }
  };
  await Promise.all(Array.from({ length: navigator.hardwareConcurrency }, worker));
}

/** Looks at every state. Resolves to the assertion that breaks, or null. */
async function checkModel(
  name: string,
  bounds: readonly string[],
  without?: string,
): Promise<{ broken: string | null; states: number }> {
  const work = await Deno.makeTempDir({ prefix: "millrace_model_" });
  try {
    const flags = without === undefined ? bounds : [...bounds, without];
    await run(work, "spin", ["-a", ...flags.map((flag) => `-D${flag}`), `${folder}${name}.pml`]);
    // What breaks is found soon: there the compiler would take longer than the search.
    const speed = without === undefined ? "-O1" : "-O0";
    await run(work, "gcc", ["-w", speed, "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c"]);
    const said = await run(work, `${work}/pan`, [`-m${DEPTH}`]);
    const broken = /^pan:\d+: (.*)$/m.exec(said)?.[1] ??
      (/too small/.test(said) ? "not all was searched" : null);
    return { broken, states: Number(/(\d+) states, stored/.exec(said)?.[1] ?? 0) };
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

async function run(cwd: string, program: string, args: readonly string[]): Promise<string> {
  const { stdout, stderr, success } = await new Deno.Command(program, { args: [...args], cwd }).output();
  const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  if (!success) throw new Error(`${program} failed:\n${said}`);
  return said;
}

async function isThere(program: string): Promise<boolean> {
  try {
    await new Deno.Command(program, { args: ["--version"], stdout: "null", stderr: "null" }).output();
    return true;
  } catch {
    return false;
  }
}

function say(line: string): void {
  const bytes = new TextEncoder().encode(`${line}\n`);
  for (let written = 0; written < bytes.length;) written += Deno.stdout.writeSync(bytes.subarray(written));
}

if (import.meta.main) Deno.exit(await main());
