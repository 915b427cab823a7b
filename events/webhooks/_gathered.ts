/** The most calls of one run. */
const RUN_MAX = 100;

/**
 * Makes one function of many out of one of one: calls of the same moment, and those that come while the last run is
 * under way, travel together. A run that fails fails all of its calls.
 */
export function gathered<Given, Found>(
  run: (given: readonly Given[]) => Promise<readonly Found[]>,
): (given: Given) => Promise<Found> {
  let waiting: { readonly given: Given; readonly deferred: PromiseWithResolvers<Found> }[] = [];
  let isBusy = false;
  const go = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, RUN_MAX);
      waiting = waiting.slice(RUN_MAX);
      try {
        const found = await run(batch.map(({ given }) => given));
        for (const [index, { deferred }] of batch.entries()) deferred.resolve(found[index]!);
      } catch (error) {
        for (const { deferred } of batch) deferred.reject(error);
      }
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
