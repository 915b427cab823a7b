/**
 * For the tests of applications: what was enqueued, runs on demand, and a clock that the test moves. (The suite for authors
 * of adapters is `./conformance`.)
 *
 * @module
 */
export {
  createTestBench,
  type DrainOptions,
  type PerformOptions,
  TestBench,
  type TestBenchOptions,
} from "./bench.ts";
