/** Functions of Millrace's schema. An error in one of them says as much of the server as an error in a statement. */
const OWN =
  /^(?:apply_rules|args_depth|bound_args|bound_data|capture_\w+|check_protocol|enqueue|lacking|make_way|new_event_id|note_listening|offer_keyed|offer_many|pass_over_\w+|record_periodic_run|wake_relay)$/;

/**
 * How a line of an error's context names a function: `PL/pgSQL function shop.audit() line 3`, or
 * `SQL function "audit" statement 1`. The words are in the server's language, so they are not compared; SQL in the
 * context may have a number after a call, and has one of these words between.
 */
const FUNCTION =
  /(?:([^\s"]+|"[^"]+")\([^()]*\),? (?!limit|offset|then|else|and|or|between)\p{L}+ \d+\b|"([^"]+)" \p{L}+ \d+$)/gmu;

/**
 * Whether an error was raised in a function or trigger that is none of ours: whatever its SQLSTATE says of connections,
 * locks or conflicts, it is not the server's state, for the session goes on. Such a trigger refuses what it was called for.
 */
export function isRaisedInFunction(error: Error): boolean {
  if (Reflect.get(error, "severity") !== "ERROR") return false;
  const where: unknown = Reflect.get(error, "where");
  if (typeof where !== "string") return false;
  return [...where.matchAll(FUNCTION)].some(([, signature, name]) => !OWN.test(baseName(signature ?? name!)));
}

/** A function's name without its schema and quotes. */
function baseName(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1).replaceAll('"', "");
}
