/** Base64 with padding, by what every web-standard runtime has. */

/** Encodes bytes. */
export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** Decodes canonical base64: padded, no white space, no spare bits. Null for anything else. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) return null;
  const binary = atob(text);
  // Two texts that differ only in bits which no byte uses would be one secret, or one signature, under two names.
  if (btoa(binary) !== text) return null;
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
