import type { Handler } from "../../ports/mod.ts";

/** Does nothing, so that what is measured is the queue. */
const noop: Handler = () => {};
export default noop;
