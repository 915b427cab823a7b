/** A peer's program failed. */
export class PeerError extends Error {
  /** The name of the class. */
  override readonly name = "PeerError";

  /** With what the program had printed. */
  constructor(message: string, output: string) {
    super(output.trim() === "" ? message : `${message}\nIt had printed:\n${output.trim()}`);
  }
}
