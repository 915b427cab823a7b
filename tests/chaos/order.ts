/** Begins the tags of jobs that belong to an order. */
export const ORDER = "order of ";
