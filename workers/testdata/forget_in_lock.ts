const LOCK = new URL("../../deno.lock", import.meta.url);

/** What is imported over the network for the first time is written into deno.lock. Takes out what came from an origin. */
export function forgetInLock(origin: string): void {
  const lock = JSON.parse(Deno.readTextFileSync(LOCK));
  const kept = Object.entries(lock.remote ?? {}).filter(([url]) => new URL(url).origin !== origin);
  if (kept.length > 0) lock.remote = Object.fromEntries(kept);
  else delete lock.remote;
  Deno.writeTextFileSync(LOCK, JSON.stringify(lock, null, 2) + "\n");
}
