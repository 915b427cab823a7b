/**
 * The protocol that this program speaks with the others on its schema: what the rows mean that they share. It rises when
 * an older program could no longer read, or would harm, what a newer one writes. A program without a number counts as 1.
 */
export const PROTOCOL: number = 2;
