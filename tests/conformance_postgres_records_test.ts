import { recordCases } from "./conformance/cases.ts";
import { conformanceOf } from "./conformance/conformance.ts";
import { databaseUrl } from "./harness/database_url.ts";
import { dropEmptySchemas, postgresHarness } from "./harness/postgres.ts";

// To start threads takes most of the time that such a case does.
conformanceOf(postgresHarness(databaseUrl(), "inline"), recordCases);

Deno.test.afterAll(() => dropEmptySchemas(databaseUrl()));
