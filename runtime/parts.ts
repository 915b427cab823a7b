import type { Composition } from "../ports/composition.ts";
import { errorText } from "../ports/error_text.ts";
import { CompositionError, RuntimeStateError } from "../ports/errors.ts";
import type { EventType, Recorder } from "../ports/event.ts";
import type { Inspector } from "../ports/inspector.ts";
import type { Jobs } from "../ports/jobs.ts";
import type { Queue } from "../ports/kind.ts";
import type { Parts, Registrar, RegistrarInput } from "../ports/registrar.ts";

/** The parts of a process before all of them are built: those that are not yet there work once they are. */
export class PartsBuilder {
  #jobs: Jobs | undefined;
  #recorder: Recorder | undefined;
  #inspector: Inspector | undefined;
  #eventTypes: ReadonlyMap<string, EventType> | undefined;
  #queues: ReadonlyMap<string, Queue> | undefined;
  /** The parts. */
  readonly parts: Parts;

  /** Takes what is there already. */
  constructor(there: Pick<Parts, "database" | "log" | "call" | "upkeep">) {
    const jobs = () => this.#jobs ?? tooEarly("jobs");
    const recorder = () => this.#recorder ?? tooEarly("recorder");
    const inspector = () => this.#inspector ?? tooEarly("inspector");
    this.parts = {
      ...there,
      jobs: {
        with: (tx) => jobs().with(tx),
        enqueue: (kind, args, options) => jobs().enqueue(kind, args, options),
        offer: (kind, args, options) => jobs().offer(kind, args, options),
        enqueueMany: (requests) => jobs().enqueueMany(requests),
        cancel: (id) => jobs().cancel(id),
      },
      inspector: {
        overview: (kind) => inspector().overview(kind),
        depth: (filter) => inspector().depth(filter),
        list: (filter) => inspector().list(filter),
        get: (id) => inspector().get(id),
        retry: (id) => inspector().retry(id),
        bringForward: (ids) => inspector().bringForward(ids),
        cancel: (id) => inspector().cancel(id),
        pauseQueue: (queue) => inspector().pauseQueue(queue),
        resumeQueue: (queue) => inspector().resumeQueue(queue),
        periodic: () => inspector().periodic(),
        runPeriodic: (name) => inspector().runPeriodic(name),
        pausePeriodic: (name) => inspector().pausePeriodic(name),
        resumePeriodic: (name) => inspector().resumePeriodic(name),
      },
      eventTypes: () => this.#eventTypes ?? tooEarly("eventTypes"),
      queues: () => this.#queues ?? tooEarly("queues"),
      recorder: {
        with: (tx) => recorder().with(tx),
        record: (draft) => recorder().record(draft),
        recordMany: (drafts) => recorder().recordMany(drafts),
      },
    };
  }

  /**
   * What the registrars contribute.
   *
   * @throws {CompositionError} one of them threw; all that did are listed.
   */
  resolve(inputs: readonly RegistrarInput[]): readonly Registrar[] {
    // Whoever writes no types may hand over anything; the composition says what is wrong with it.
    if (!Array.isArray(inputs)) return inputs as readonly Registrar[];
    const faults: string[] = [];
    const registrars = inputs.flatMap((input: RegistrarInput): Registrar[] => {
      if (typeof input !== "function") return [input];
      try {
        return [input(this.parts)];
      } catch (error) {
        const what = input.name === "" ? "a registrar" : `the registrar ${input.name}`;
        faults.push(`${what} threw: ${errorText(error)}`);
        return [];
      }
    });
    if (faults.length > 0) throw new CompositionError(faults);
    return registrars;
  }

  /** All parts are there. */
  complete(
    built: Pick<Parts, "jobs" | "inspector" | "recorder"> & Pick<Composition, "eventTypes" | "queues">,
  ): void {
    this.#jobs = built.jobs;
    this.#inspector = built.inspector;
    this.#eventTypes = built.eventTypes;
    this.#queues = built.queues;
    this.#recorder = built.recorder;
  }
}

function tooEarly(part: string): never {
  throw new RuntimeStateError(
    `Cannot use ${part} of the parts while the runtime is being built: keep the parts, and use them in handlers`,
  );
}
