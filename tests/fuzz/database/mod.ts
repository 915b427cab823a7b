import type { Property } from "../property.ts";
import { nameProperties } from "./names.ts";
import { schemaNameProperty } from "./schema_names.ts";

/** Every property that needs a PostgreSQL. */
export const databaseProperties: readonly Property[] = [
  schemaNameProperty,
  ...nameProperties,
];
