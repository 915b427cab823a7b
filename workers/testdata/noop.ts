import type { Handler } from "../../ports/mod.ts";

const handler: Handler = async () => {};
export default handler;
