/** A JSON value, the type of args, outputs and event data. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A value accepted as JSON. Object members may be undefined and are then omitted, as by `JSON.stringify`. */
export type JsonInput =
  | null
  | boolean
  | number
  | string
  | readonly JsonInput[]
  | { readonly [key: string]: JsonInput | undefined };
