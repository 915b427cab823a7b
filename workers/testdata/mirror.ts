import type { Handler } from "../../ports/mod.ts";

const handler: Handler = (args) => args;
export default handler;
