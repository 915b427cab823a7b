export const handler = (): void => {};
