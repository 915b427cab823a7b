/** Never ends, and can't be ended. */
export default function spin(): never {
  for (;;);
}
