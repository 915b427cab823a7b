import type { CallOptions, Json, Permissions } from "../../ports/mod.ts";
import type { AbortCause } from "../outcome.ts";
import type { Work, WorkObserver, WorkSurroundings } from "../work.ts";

export interface HostPoolOptions {
  readonly threads: number;
  readonly jobsPerThread: number;
  readonly graceMs: number;
  readonly completion: string | null;
  readonly memoryWatchMs: number;
  readonly idleMs: number;
  readonly config?: string;
  readonly surroundings: WorkSurroundings;
}
export interface Confinement {
  readonly permissions?: Permissions;
  readonly memory?: number;
  readonly alone?: boolean;
}
export class HostPool {
  constructor(_options: HostPoolOptions) {}
  get hosts(): number {
    return 0;
  }
  run(_work: Work, _confinement: Confinement, observer: WorkObserver): number {
    queueMicrotask(() => observer.ended({ type: "failed", class: "error", message: "not yet" }));
    return 0;
  }
  abort(_key: number, _cause: AbortCause): void {}
  check(_module: string, _confinement: Confinement): Promise<string | null> {
    return Promise.resolve(null);
  }
  call(_module: string, _input: Json, _options?: CallOptions): Promise<Json> {
    return Promise.reject(new Error("not yet"));
  }
  stop(): Promise<void> {
    return Promise.resolve();
  }
}
