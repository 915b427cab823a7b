/** A JSON value: what args, results and event data are made of. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** What is taken as JSON: members of objects may be undefined, and are left out, as `JSON.stringify` does. */
export type JsonInput =
  | null
  | boolean
  | number
  | string
  | readonly JsonInput[]
  | { readonly [key: string]: JsonInput | undefined };
