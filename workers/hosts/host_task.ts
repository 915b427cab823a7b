import type { Work, WorkObserver } from "../work.ts";

/** One attempt in a host process. */
export interface HostTask {
  /** Unique among the host processes of an executor. */
  readonly key: number;
  /** The work. */
  readonly work: Work;
  /** Told of it. */
  readonly observer: WorkObserver;
}
