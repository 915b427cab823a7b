/** The embedded PostgreSQL is unavailable or does not start. The message says why and what to do. */
export class EmbeddedPostgresError extends Error {
  /** The name of the class. */
  override readonly name = "EmbeddedPostgresError";

  /** Keeps the underlying error as the cause. */
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
  }
}
