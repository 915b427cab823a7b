/** What `setTimeout` returns, which differs between runtimes. */
export type Timer = ReturnType<typeof setTimeout>;
