import type { Handler } from "../../ports/handler.ts";

const handler: Handler = (args) => args;
export default handler;
