/** One claim of one job as a key of maps. */
export function runKey(id: string, run: number): string {
  return `${run} ${id}`;
}
