/** What is sent. */
export type PostInput = {
  /** The addresses that were checked: the first that can be reached is sent to. */
  readonly addresses: readonly string[];
  /** The endpoint's URL. */
  readonly url: string;
  /** Headers beside those that the connection needs. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body's text. */
  readonly body: string;
  /** The limit of the whole, in ms. */
  readonly timeoutMs: number;
};

/** What came of it. */
export type PostOutput =
  | {
    readonly type: "answered";
    /** The status. */
    readonly status: number;
    /** The Retry-After headers. */
    readonly retryAfter: readonly string[];
    /** The first part of the answer's body, as text without control characters. */
    readonly answer: string;
    /** How long it took, in ms. */
    readonly durationMs: number;
  }
  | {
    readonly type: "failed";
    /** What failed. The last two are this side's own fault. */
    readonly reason:
      | "connection"
      | "certificate"
      | "timeout"
      | "answer"
      | "denied"
      | "exhausted"
      | "unsendable";
    /** For people. It names no address. */
    readonly message: string;
    /** How long it took, in ms. */
    readonly durationMs: number;
  };

/** What sends, over connections that it keeps. Rejects only when the signal aborts: what fails is told. */
export type Post = (input: PostInput, options?: { readonly signal: AbortSignal }) => Promise<PostOutput>;

/** Sends over connections of its own. */
export interface Poster {
  /** Sends one. */
  readonly post: Post;
  /** Closes the connections that are idle, and keeps none from now on. What is under way ends as it would. */
  close(): void;
}
