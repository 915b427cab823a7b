/** Adds two numbers. */
export default function add(args: { a: number; b: number }): number {
  return args.a + args.b;
}
