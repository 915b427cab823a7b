import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { toBase64 } from "../../events/signing/base64.ts";
import { KeyRing, SecretKeyError } from "./key_ring.ts";

function key(): string {
  return toBase64(crypto.getRandomValues(new Uint8Array(32)));
}

Deno.test("KeyRing opens what it sealed, for that place only", async () => {
  const ring = KeyRing.read(key());
  const sealed = await ring.seal("whsec_secret", "endpoint 1");
  assert(!sealed.includes("secret"));
  assertNotEquals(sealed, await ring.seal("whsec_secret", "endpoint 1"));
  assertEquals(await ring.open(sealed, "endpoint 1"), "whsec_secret");
  await assertRejects(() => ring.open(sealed, "endpoint 2"), SecretKeyError, "was changed");
  const changed = sealed.replace(/.$/, (last) => last === "=" ? "A" : "=");
  await assertRejects(() => ring.open(changed, "endpoint 1"), SecretKeyError);
  await assertRejects(() => ring.open("whsec_plain", "endpoint 1"), SecretKeyError, "not in the form");
});

Deno.test("KeyRing seals with its first key and opens with any: the key can be rotated", async () => {
  const [old, next] = [key(), key()];
  const before = KeyRing.read(`2025:${old}`);
  const between = KeyRing.read(` 2026:${next}, 2025:${old} `);
  const after = KeyRing.read(`2026:${next}`);
  const sealed = await before.seal("secret", "place");
  assertEquals(KeyRing.sealedWith(sealed), "2025");
  assertEquals(between.current, "2026");
  const again = await between.seal(await between.open(sealed, "place"), "place");
  assertEquals(KeyRing.sealedWith(again), "2026");
  assertEquals(await after.open(again, "place"), "secret");
  await assertRejects(() => after.open(sealed, "place"), SecretKeyError, "the key 2025, which is not in");
  const other = KeyRing.read(`2025:${next}`);
  await assertRejects(() => other.open(sealed, "place"), SecretKeyError, "another one");
});

Deno.test("KeyRing names a key without an id by its fingerprint", () => {
  const bare = key();
  const ring = KeyRing.read(bare);
  assert(/^[0-9a-f]{8}$/.test(ring.current));
  assertEquals(KeyRing.read(`${key()},${bare}`).current === ring.current, false);
});

Deno.test("KeyRing says how to make a key, and never what was given", () => {
  for (const none of [undefined, "", " , "]) {
    const error = assertThrows(() => KeyRing.read(none), SecretKeyError);
    assertStringIncludes(error.message, "openssl rand -base64 32");
  }
  const given = key();
  for (const bad of ["no base64!", toBase64(new Uint8Array(16)), `a b:${given}`, `a:${given},a:${key()}`]) {
    const error = assertThrows(() => KeyRing.read(bad), SecretKeyError);
    assert(!error.message.includes(bad) && !error.message.includes(given), error.message);
  }
});

Deno.test("KeyRing opens what has the form of a sealed text, and nothing around it", async () => {
  const ring = KeyRing.read(key());
  const sealed = await ring.seal("text", "here");
  assertEquals(await ring.open(sealed, "here"), "text");
  for (
    const other of [
      `${sealed}:`,
      `${sealed}:AAAA`,
      `${sealed}:${sealed}`,
      sealed.split(":").slice(0, 3).join(":"),
    ]
  ) {
    await assertRejects(() => ring.open(other, "here"), SecretKeyError, "not in the form");
  }
  assertThrows(() => KeyRing.read(toBase64(new Uint8Array(32))), SecretKeyError, "nothing but zeros");
});
