import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { type ArgsSchema, ArgsSchemaError, checkArgs, InvalidArgsError } from "./args_schema.ts";

function schemaOf(validate: (value: unknown) => unknown): ArgsSchema {
  return { "~standard": { version: 1, vendor: "none", validate } } as ArgsSchema;
}

Deno.test("checkArgs() returns what the schema makes of the args, at once where the schema answers at once", async () => {
  assertEquals(checkArgs("k", schemaOf((value) => ({ value: [value] })), 1), [1]);
  assertEquals(await checkArgs("k", schemaOf((value) => Promise.resolve({ value })), 1), 1);
});

Deno.test("checkArgs() names every issue and its path", () => {
  const issues = [{ message: "too short", path: ["a", { key: 0 }] }, { message: "odd", path: null }];
  const error = assertThrows(() => checkArgs("k", schemaOf(() => ({ issues })), {}), InvalidArgsError);
  assertEquals(error.issues, [{ path: "args.a[0]", message: "too short" }, { path: "args", message: "odd" }]);
});

Deno.test("checkArgs() tells of a schema that throws, and keeps what it threw", async () => {
  const thrown = new Error("no connection");
  const throwing = schemaOf(() => {
    throw thrown;
  });
  const error = assertThrows(
    () => checkArgs("k", throwing, {}),
    ArgsSchemaError,
    'kind "k": its schema threw: no conn',
  );
  assertEquals(error.cause, thrown);
  const rejecting = schemaOf(() => Promise.reject(thrown));
  const late = await assertRejects(async () => await checkArgs("k", rejecting, {}), ArgsSchemaError);
  assertEquals(late.cause, thrown);
});

Deno.test("checkArgs() tells of a schema that answers what no schema may", () => {
  for (const answer of [undefined, null, true, { issues: 5 }, { issues: [null] }]) {
    assertThrows(() => checkArgs("k", schemaOf(() => answer), {}), ArgsSchemaError, "answered");
  }
});
