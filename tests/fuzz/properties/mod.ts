import type { Property } from "../property.ts";
import { commandLineProperties } from "./command_lines.ts";
import { jsonProperties } from "./json.ts";
import { textProperties } from "./texts.ts";
import { webhookParserProperties } from "./webhook_parsers.ts";
import { webhookVerifierProperties } from "./webhook_verifier.ts";

/** Every property that needs no database. */
export const properties: readonly Property[] = [
  ...commandLineProperties,
  ...jsonProperties,
  ...textProperties,
  ...webhookVerifierProperties,
  ...webhookParserProperties,
];
