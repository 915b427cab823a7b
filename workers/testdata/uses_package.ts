import { z } from "zod";

/** A handler whose code has a package. */
export default function usesPackage(): boolean {
  return z.number().safeParse(1).success;
}
