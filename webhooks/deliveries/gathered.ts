import { isOfTheMoment } from "../../shared/outage.ts";

/** The most calls of one run. */
const RUN_MAX = 100;

interface Call<Given, Found> {
  readonly given: Given;
  readonly deferred: PromiseWithResolvers<Found>;
}

/**
 * Makes one function of many out of one of one: calls of the same moment, and those that come while the last run is
 * under way, travel together. A run that is refused is made again with each half, down to single calls, so that a bad one
 * fails by itself; in an outage all of its calls fail.
 */
export function gathered<Given, Found>(
  run: (given: readonly Given[]) => Promise<readonly Found[]>,
): (given: Given) => Promise<Found> {
  let waiting: Call<Given, Found>[] = [];
  let isBusy = false;
  const attempt = async (batch: readonly Call<Given, Found>[]): Promise<void> => {
    try {
      const found = await run(batch.map(({ given }) => given));
      for (const [index, { deferred }] of batch.entries()) deferred.resolve(found[index]!);
    } catch (error) {
      if (batch.length === 1 || isOfTheMoment(error)) {
        for (const { deferred } of batch) deferred.reject(error);
        return;
      }
      const middle = batch.length >> 1;
      await attempt(batch.slice(0, middle));
      await attempt(batch.slice(middle));
    }
  };
  const go = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, RUN_MAX);
      waiting = waiting.slice(RUN_MAX);
      await attempt(batch);
    }
    isBusy = false;
  };
  return (given) => {
    const deferred = Promise.withResolvers<Found>();
    waiting.push({ given, deferred });
    if (!isBusy) {
      isBusy = true;
      setTimeout(go, 0);
    }
    return deferred.promise;
  };
}
