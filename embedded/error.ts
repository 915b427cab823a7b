/** The embedded PostgreSQL can't be had, or does not start. The message says why and what to do. */
export class EmbeddedPostgresError extends Error {
  /** The name of the class. */
  override readonly name = "EmbeddedPostgresError";

  /** Keeps what was underneath as the cause. */
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
  }
}
