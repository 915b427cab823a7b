import type { Signal, SignalObserver, SignalSubscription } from "../../ports/store.ts";

/** Carries signals to every runtime on one store, never within the call that sends them. */
export class SignalBoard {
  readonly #observers = new Set<SignalObserver>();

  send(signals: readonly Signal[]): void {
    for (const observer of this.#observers) {
      for (const signal of signals) {
        this.#later(observer, () => observer.signal(signal));
      }
    }
  }

  subscribe(observer: SignalObserver): SignalSubscription {
    this.#observers.add(observer);
    this.#later(observer, () => observer.ready());
    return {
      listening: true,
      close: () => {
        this.#observers.delete(observer);
        return Promise.resolve();
      },
    };
  }

  #later(observer: SignalObserver, tell: () => void): void {
    queueMicrotask(() => {
      if (this.#observers.has(observer)) tell();
    });
  }
}
