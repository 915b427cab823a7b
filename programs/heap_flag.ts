/**
 * The size of the young generation of every thread's heap, in MB. Working jobs creates only short-lived objects. With
 * V8's own bound each thread's heap needlessly grows to several times the size (275 MB after 300,000 jobs instead of
 * 140, at the same rate).
 */
export const HEAP_FLAG = "--v8-flags=--max-semi-space-size=4";
