import { translateError } from "../../../adapters/postgres/connection/translate_error.ts";
import { DatabaseUnavailableError } from "../../../ports/errors.ts";
import { pause } from "../../conformance/eventually.ts";
import type { Random } from "../random.ts";
import { CONNECTION_FAULTS } from "./connections.ts";
import { DATABASE_FAULTS } from "./database.ts";
import { PROCESS_FAULTS } from "./processes.ts";
import { SERVER_FAULTS } from "./server.ts";
import type { Fault, Target } from "./target.ts";

const FAULTS: readonly Fault[] = [
  ...PROCESS_FAULTS,
  ...CONNECTION_FAULTS,
  ...SERVER_FAULTS,
  ...DATABASE_FAULTS,
  {
    name: "receiver away",
    weight: 2,
    make: ({ receiver }, random) => receiver.leave(random.integer(500, 8000)),
  },
];

/** The injector needs the database too, and it may be away. Any other error means that its fault was never made. */
function isOutage(error: unknown): boolean {
  return translateError(error) instanceof DatabaseUnavailableError;
}

/** Makes faults, some of them at the same time, until it is told to stop. */
export class Injector {
  readonly #target: Target;
  readonly #random: Random;
  readonly #counts = new Map<string, number>();
  readonly #under = new Set<Promise<void>>();
  #serverBusy = false;
  #running: Promise<void> | null = null;
  #stopped = false;

  constructor(target: Target, random: Random) {
    this.#target = target;
    this.#random = random;
  }

  /** How often each fault was made. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** Begins. */
  start(): void {
    this.#running = this.#run();
  }

  /** Makes no more faults, and resolves when those under way are over and all is whole. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
    await Promise.all(this.#under);
    for (const { proxy } of this.#target.members) proxy.restore();
    this.#target.proxy.restore();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      // Drawn whether it is possible or not, so that a seed means the same on every machine.
      const fault = this.#random.weighted(FAULTS);
      const random = this.#random.fork();
      const pauseMs = this.#random.chance(0.25) ? 50 : this.#random.integer(500, 3500);
      const isPossible = fault.isPossible?.(this.#target) ?? true;
      if (isPossible && !(fault.isServers === true && this.#serverBusy)) this.#make(fault, random);
      await pause(pauseMs);
    }
  }

  #make(fault: Fault, random: Random): void {
    const { journal } = this.#target;
    const isServers = fault.isServers === true;
    this.#counts.set(fault.name, (this.#counts.get(fault.name) ?? 0) + 1);
    journal.write({ what: "fault", name: fault.name });
    if (isServers) this.#serverBusy = true;
    const made: Promise<void> = fault.make(this.#target, random)
      .catch((error) => {
        const text = `${fault.name}: ${error.message}`;
        journal.write(isOutage(error) ? { what: "fault", name: text } : { what: "odd", text });
      })
      .finally(() => {
        if (isServers) this.#serverBusy = false;
        this.#under.delete(made);
      });
    this.#under.add(made);
  }
}
