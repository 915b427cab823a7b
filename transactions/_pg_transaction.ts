/** The parts of a `pg` client's connection that are used. */
interface PgConnection {
  on(event: "readyForQuery", listener: (message?: { readonly status?: string }) => void): void;
}

/** How many transactions each client has ended, as far as we have observed. */
const ended = new WeakMap<object, { count: number }>();

/**
 * Records the transaction that is open on a `pg` client, and returns a check that it still is. A released client goes
 * to the next caller of its pool, whose transaction is a different one. The check returns true if the client can't be
 * observed.
 */
export function openTransaction(client: unknown): () => boolean {
  const ends = endsOf(client);
  const noted = ends?.count;
  return () => ends?.count === noted;
}

function endsOf(client: unknown): { readonly count: number } | undefined {
  if (typeof client !== "object" || client === null) return undefined;
  const known = ended.get(client);
  if (known !== undefined) return known;
  const connection: unknown = Reflect.get(client, "connection");
  if (typeof connection !== "object" || connection === null) return undefined;
  if (typeof Reflect.get(connection, "on") !== "function") return undefined;
  const ends = { count: 0 };
  // I is idle: the server reports that no transaction is open.
  (connection as PgConnection).on("readyForQuery", (message) => {
    if (message?.status === "I") ends.count++;
  });
  ended.set(client, ends);
  return ends;
}
