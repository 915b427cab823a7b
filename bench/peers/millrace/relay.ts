/**
 * The relay of Millrace, as a program that is measured.
 *
 * @module
 */
import { RelayBench } from "../../relay.ts";
import { serve } from "../shared/serve.mjs";

let bench: RelayBench;

await serve({
  async open({ url, schema }: { url: string; schema: string }) {
    bench = await RelayBench.open(url, {}, schema);
  },
  seed: ({ events }: { events: number }) => bench.seed(events),
  async fanOut() {
    const result = await bench.fanOut();
    await bench.runtime.stop();
    return result;
  },
  close: () => bench[Symbol.asyncDispose](),
});
