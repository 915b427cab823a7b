import { assert } from "@std/assert";

/** What starts once and stops. */
export interface StartsAndStops {
  /** Begins. */
  start(): void | Promise<void>;
  /** Ends what it does. */
  stop(): void | Promise<void>;
}

/** How {@linkcode stressStartStop} judges. */
export interface StartStopStress {
  /** How many times all orders are run through. Default 2. */
  readonly rounds?: number;
  /** Whether a start after a stop, or one that a stop overtook, may fail with this. Default: it never fails. */
  readonly mayRefuse?: (error: unknown) => boolean;
  /** Fails if a stopped one has left something behind. Timers and operations are the test runner's to find. */
  readonly assertGone?: () => Promise<void>;
}

type Act = (service: Promised) => Promise<unknown>;

/** Each order ends with a stop: nothing may be left after it. */
const ORDERS: Readonly<Record<string, Act>> = {
  "start, stop": async (service) => {
    await service.start();
    await service.stop();
  },
  "stop before the start has ended": (service) => Promise.all([service.start(), service.stop()]),
  "stop a moment after the start has begun": async (service) => {
    const started = service.start();
    for (let turn = 0; turn < 3; turn++) await Promise.resolve();
    await Promise.all([started, service.stop()]);
  },
  "stop before any start, then a start": async (service) => {
    await service.stop();
    await service.start();
    await service.stop();
  },
  "two starts and two stops at once": async (service) => {
    await Promise.all([service.start(), service.start()]);
    await Promise.all([service.stop(), service.stop()]);
    await service.stop();
  },
  "starts and stops in turn, none waited for": (service) =>
    Promise.all([service.start(), service.stop(), service.start(), service.stop()]),
  "start after stop": async (service) => {
    await service.start();
    await service.stop();
    await service.start();
    await service.stop();
  },
};

/** Starts and stops services in every order that callers get wrong. Every call has to settle, and nothing may be left. */
export async function stressStartStop(
  make: () => StartsAndStops | Promise<StartsAndStops>,
  { rounds = 2, mayRefuse = () => false, assertGone = () => Promise.resolve() }: StartStopStress = {},
): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const [order, act] of Object.entries(ORDERS)) {
      const service = new Promised(await make(), mayRefuse);
      await act(service).catch((error) => {
        throw new Error(`${order}: a call failed`, { cause: error });
      });
      await assertGone().catch((error) => {
        throw new Error(`${order}: something is left`, { cause: error });
      });
      assert(service.calls === service.settled, `${order}: a call did not settle`);
    }
  }
}

/** A service whose calls return promises, and whose refusals to start are no failures. */
class Promised {
  calls = 0;
  settled = 0;
  readonly #service: StartsAndStops;
  readonly #mayRefuse: (error: unknown) => boolean;

  constructor(service: StartsAndStops, mayRefuse: (error: unknown) => boolean) {
    this.#service = service;
    this.#mayRefuse = mayRefuse;
  }

  async start(): Promise<void> {
    await this.#count(async () => await this.#service.start()).catch((error) => {
      if (!this.#mayRefuse(error)) throw error;
    });
  }

  async stop(): Promise<void> {
    await this.#count(async () => await this.#service.stop());
  }

  async #count(call: () => Promise<void>): Promise<void> {
    this.calls++;
    await call().finally(() => this.settled++);
  }
}
