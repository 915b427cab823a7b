/**
 * The flags of the features whose use without them ends a process, where no `try` catches it (exit code 70). Handlers
 * are told so by an error; what they start themselves is not, so processes that we start have the flags.
 */
export const UNSTABLE_FLAGS: readonly string[] = ["--unstable-worker-options", "--unstable-vsock"];
