/** Never returns. */
export default function (): void {
  for (;;);
}
