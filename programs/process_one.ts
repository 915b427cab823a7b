/**
 * Warns when a program is process 1 of a container: process 1 inherits the processes that others leave behind, and Deno
 * has no call that removes them from the process table once they have ended.
 */
export function warnOfProcessOne(warn: (event: string, fields: Record<string, string>) => void): void {
  if (Deno.pid !== 1) return;
  warn("this is process 1, without an init", {
    effect: "processes that handlers leave behind stay in the process table when they have ended",
    remedy: "start the container with an init: docker run --init, or tini as its entrypoint",
  });
}
