const VARIABLE = "CHAOS_RUNTIME_PID";

/** Says that this process is a worker program. Its host processes inherit that. */
export function markRuntime(): void {
  Deno.env.set(VARIABLE, String(Deno.pid));
}

/** The worker program that this process is or belongs to. */
export function runtimePid(): number {
  return Number(Deno.env.get(VARIABLE));
}
