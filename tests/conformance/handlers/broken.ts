throw new Error("this module can't be loaded");

/** Never reached. */
export default function broken(): void {}
