import type { Property } from "../property.ts";
import { webhookVerifierProperties } from "./webhook_verifier.ts";

/** Every property that needs no database. */
export const properties: readonly Property[] = [
  ...webhookVerifierProperties,
];
