/** An hour, in ms. */
const HOUR_MS = 3_600_000;

/** Where Debian and others put it. */
const LIBRARIES = [
  "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
  "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
  "/usr/lib64/faketime/libfaketimeMT.so.1",
  "/usr/lib/faketime/libfaketimeMT.so.1",
];

/** By how much the system's clock, as this process sees it, is ahead, in ms. */
export const AHEAD_VARIABLE = "CHAOS_AHEAD_MS";

/** How a program is made to think that it is an hour later. */
export interface HourAhead {
  /** What its environment needs. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether all of its processes see that clock, not only its main thread. */
  readonly isWhole: boolean;
}

/** With libfaketime where it is installed (Debian's package `faketime`), otherwise by a `Date` of its own. */
export function hourAhead(): HourAhead {
  const library = LIBRARIES.find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
  if (library === undefined) return { env: { CLOCK_SHIFT_MS: String(HOUR_MS) }, isWhole: false };
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME: "+1h",
      // Timers go by the monotonic clock, which is nobody's to set.
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      [AHEAD_VARIABLE]: String(HOUR_MS),
    },
    isWhole: true,
  };
}

/** The library leaves two small files of each process that was killed. Takes away those of processes that are gone. */
export async function removeLeftClocks(): Promise<void> {
  const folder = "/dev/shm";
  for await (const { name } of Deno.readDir(folder)) {
    const pid = /^(?:sem\.)?faketime_(?:shm|sem)_(\d+)$/.exec(name)?.[1];
    if (pid === undefined) continue;
    const isGone = await Deno.stat(`/proc/${pid}`).then(() => false, () => true);
    if (isGone) await Deno.remove(`${folder}/${name}`).catch(() => {});
  }
}
