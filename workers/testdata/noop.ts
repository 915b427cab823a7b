import type { Handler } from "../../ports/handler.ts";

const handler: Handler = async () => {};
export default handler;
