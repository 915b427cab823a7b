/** Takes so many ms, unless it is aborted. */
export default async function sleep(
  args: { ms: number },
  ctx: { readonly signal: AbortSignal; readonly attempt: number },
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, args.ms);
  ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason), { once: true });
  await promise.finally(() => clearTimeout(timer));
  return `attempt ${ctx.attempt}`;
}
