/**
 * Tools for testing applications: inspect what was enqueued, run jobs on demand, and control the clock. (Authors of
 * adapters find their test suite in `./conformance`.)
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
