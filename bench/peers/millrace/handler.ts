import type { Handler } from "../../../mod.ts";
import { perform } from "../shared/perform.mjs";

const handler: Handler = (args) => perform(args as Parameters<typeof perform>[0]);

export default handler;
