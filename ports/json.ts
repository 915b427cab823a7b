/** A JSON value: what args, results and event data are made of. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
