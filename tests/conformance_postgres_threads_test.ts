import { handlerCases } from "./conformance/cases.ts";
import { conformanceOf } from "./conformance/conformance.ts";
import { databaseUrl } from "./harness/database_url.ts";
import { dropEmptySchemas, postgresHarness } from "./harness/postgres.ts";

conformanceOf(postgresHarness(databaseUrl(), "threads"), handlerCases);

Deno.test.afterAll(() => dropEmptySchemas(databaseUrl()));
