import postgres from "postgres";
import type { Json } from "../../ports/json.ts";
import type { Tx, TxParam } from "../../ports/tx.ts";
import type { OpenTransaction } from "../conformance/harness.ts";

/** Begins a transaction on a connection of its own, as a user's handler would with the driver of its choice. */
export default async function begin(args: Json): Promise<OpenTransaction> {
  const { url } = args as { url: string };
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql.unsafe("begin");
  const tx: Tx = { unsafe: (text, params: TxParam[]) => sql.unsafe(text, params) };
  const end = async (how: "commit" | "rollback"): Promise<void> => {
    await sql.unsafe(how);
    await sql.end();
  };
  return { tx, commit: () => end("commit"), rollback: () => end("rollback") };
}

/** Runs statements, each by itself. */
export async function runSql(url: string, ...statements: string[]): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  for (const statement of statements) await sql.unsafe(statement);
  await sql.end();
}
