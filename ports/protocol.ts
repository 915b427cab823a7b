/**
 * The protocol that this program speaks with the others on its schema: the meaning of the rows they share. It is raised
 * when an older program could no longer read, or would damage, what a newer one writes. A program without a number
 * counts as 1.
 */
export const PROTOCOL: number = 2;
