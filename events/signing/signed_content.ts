/** What is signed: id, time and body, with full stops between them. Bytes, for a body is what was sent and not a text. */
export function signedContent(
  id: string,
  timestampS: number | string,
  body: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(`${id}.${timestampS}.`);
  const content = new Uint8Array(head.length + body.length);
  content.set(head);
  content.set(body, head.length);
  return content;
}

/**
 * Whether an id can't be mistaken for more than an id. With a full stop in it the borders between id, time and body
 * could be moved under one signature.
 */
export function isMessageId(id: string): boolean {
  return /^[\x21-\x2d\x2f-\x7e]{1,256}$/.test(id);
}
