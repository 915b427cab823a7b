import { assertEquals } from "@std/assert";
import { isRaisedInFunction } from "./raised_in_function.ts";

const raised = (where: string | undefined, severity = "ERROR") =>
  isRaisedInFunction(Object.assign(new Error("no"), { where, severity }));

Deno.test("isRaisedInFunction() tells functions of others, in any language of the server", () => {
  for (
    const where of [
      "PL/pgSQL function audit() line 3 at RAISE",
      "PL/pgSQL function shop.audit(integer,timestamp with time zone) line 3 at SQL statement",
      'SQL statement "insert into shop.audit\nvalues (1)"\nPL/pgSQL function shop.audit() line 4 at SQL statement',
      'PL/pgSQL function shop."Audit trail"() line 12 at RAISE',
      'SQL function "audit" statement 1',
      "PL/pgSQL-Funktion shop.audit() Zeile 3 bei RAISE",
      "fonction PL/pgSQL shop.audit(), ligne 3 à RAISE",
    ]
  ) assertEquals(raised(where), true, where);
});

Deno.test("isRaisedInFunction() leaves out our own functions, statements alone, and ends of sessions", () => {
  for (
    const where of [
      undefined,
      'while locking tuple (0,1) in relation "job"',
      'SQL statement "select from f(x) limit 1"\nPL/pgSQL function millrace.offer_keyed(bigint,text) line 40 at SQL statement',
      'PL/pgSQL function "my shop".apply_rules() line 31 at SQL statement',
      "PL/pgSQL function millrace.capture_orders_insert_1a2b() line 5 at SQL statement",
    ]
  ) assertEquals(raised(where), false, where);
  assertEquals(raised("PL/pgSQL function audit() line 3 at RAISE", "FATAL"), false);
});
