/** Fails every time. */
export default function fails(): never {
  throw new Error("fails every time");
}
