import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { Webhook } from "standardwebhooks";
import { toBase64 } from "./base64.ts";
import { generateKeyPair, generateSecret, parseSecret } from "./secret.ts";
import { Signer } from "./signer.ts";
import { type RefusalReason, WebhookVerificationError, WebhookVerifier } from "./verify.ts";

const NOW_S = 1_800_000_000;
const secret = generateSecret();
const signer = await Signer.from([secret]);
const options = { now: () => NOW_S * 1000 };
const verifier = new WebhookVerifier(secret, options);
const body = '{"amount":1.0}';

function signed(id = "evt_1", timestampS = NOW_S, text = body) {
  return signer.sign(id, timestampS, new TextEncoder().encode(text));
}

async function refusal(headers: Record<string, string>, text: string = body): Promise<RefusalReason> {
  const error = await assertRejects(() => verifier.verify({ headers, body: text }), WebhookVerificationError);
  assert(!error.message.includes(secret.slice(6)));
  return error.reason;
}

Deno.test("verify() takes a Request, and a body as text or bytes", async () => {
  const headers = { ...await signed() };
  const request = new Request("https://receiver.example", { method: "POST", headers, body });
  const verified = await verifier.verify(request);
  assertEquals(verified.id, "evt_1");
  assertEquals(verified.timestamp.getTime(), NOW_S * 1000);
  assertEquals(verified.json(), { amount: 1 });
  await verifier.verify({ headers, body });
  await verifier.verify({ headers: new Headers(headers), body: new TextEncoder().encode(body) });
  const upper = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]),
  );
  await verifier.verify({ headers: upper, body });
});

Deno.test("verify() names why it refuses", async () => {
  const headers = { ...await signed() };
  assertEquals(await refusal(headers, `${body}\n`), "wrong signature");
  for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"]) {
    assertEquals(await refusal({ ...headers, [name]: "" }), "missing header");
  }
  for (const id of ["a.b", "a b", "\u00e9", "x".repeat(257)]) {
    assertEquals(await refusal({ ...headers, "webhook-id": id }), "malformed header", id);
  }
  for (const time of ["1.5", "1e9", "0x1", "-1", "now", "01800000000", `${NOW_S}000000`]) {
    assertEquals(await refusal({ ...headers, "webhook-timestamp": time }), "malformed header", time);
  }
  assertEquals(await refusal({ ...await signed("evt_1", NOW_S - 301) }), "too old");
  assertEquals(await refusal({ ...await signed("evt_1", NOW_S + 301) }), "too new");
  await verifier.verify({ headers: { ...await signed("evt_1", NOW_S - 300) }, body });
  await verifier.verify({ headers: { ...await signed("evt_1", NOW_S + 300) }, body });
  for (const signature of ["v1a,AAAA", "v2,AAAA", "v1", "v1,not base64!", "v1,AAAA,AAAA"]) {
    assertEquals(await refusal({ ...headers, "webhook-signature": signature }), "unsupported signature");
  }
  assertEquals(await refusal({ ...headers, "webhook-signature": "v1,AAAA" }), "wrong signature");
  assertEquals(await refusal({ ...headers, "webhook-id": "evt_2" }), "wrong signature");
  assertEquals(await refusal({ ...headers, "webhook-timestamp": String(NOW_S - 1) }), "wrong signature");
});

Deno.test("verify() refuses what is no message, whatever it is", async () => {
  const headers = { ...await signed() };
  // deno-lint-ignore no-explicit-any -- what a program without types hands over
  const refusalOf = async (request: any): Promise<RefusalReason> =>
    (await assertRejects(() => verifier.verify(request), WebhookVerificationError)).reason;
  for (const name of Object.keys(headers)) {
    for (const value of [null, undefined, [], [null], ""]) {
      assertEquals(await refusalOf({ headers: { ...headers, [name]: value }, body }), "missing header");
    }
    for (const value of [7, true, {}, [["a"]]]) {
      assertEquals(await refusalOf({ headers: { ...headers, [name]: value }, body }), "malformed header");
    }
  }
  for (const none of [null, undefined, 7, "headers"]) {
    assertEquals(await refusalOf({ headers: none, body }), "missing header");
    assertEquals(await refusalOf(none), "missing header");
  }
  for (const none of [7, 0, true, { amount: 1 }, [1], () => body]) {
    assertEquals(await refusalOf({ headers, body: none }), "malformed body");
  }
});

Deno.test("verify() looks at the first 32 signatures", async () => {
  const headers = { ...await signed() };
  const wrong = `v1,${toBase64(new Uint8Array(32))} `;
  const behind = (count: number) => ({
    ...headers,
    "webhook-signature": wrong.repeat(count) + headers["webhook-signature"],
  });
  await verifier.verify({ headers: behind(31), body });
  assertEquals(await refusal(behind(32)), "wrong signature");
});

Deno.test("a secret is taken without its padding and without its prefix, as the reference takes it", async () => {
  const headers = { ...await signed() };
  const base64 = secret.slice("whsec_".length);
  assert(base64.endsWith("="));
  for (const text of [base64, base64.replaceAll("=", ""), secret.replaceAll("=", "")]) {
    await new WebhookVerifier(text, options).verify({ headers, body });
    if (text.endsWith("=")) new Webhook(text);
  }
  const { publicKey } = await generateKeyPair();
  assertEquals(parseSecret(publicKey.replaceAll("=", "")), parseSecret(publicKey));
});

Deno.test("verify() does not read a body beyond its limit", async () => {
  const small = new WebhookVerifier(secret, { ...options, maxBytes: 10 });
  let pulled = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      pulled++;
      controller.enqueue(new Uint8Array(8));
    },
  });
  const request = new Request("https://receiver.example", {
    method: "POST",
    headers: { ...await signed() },
    body: endless,
  });
  const error = await assertRejects(() => small.verify(request), WebhookVerificationError);
  assertEquals(error.reason, "body too large");
  assert(pulled < 10);
});

Deno.test("no border between id, time and body can be moved under one signature", async () => {
  const id = "a";
  const text = "2.rest";
  const { "webhook-signature": signature } = await signer.sign(id, NOW_S, new TextEncoder().encode(text));
  // The same bytes were signed: a . NOW . 2.rest
  const moved = { "webhook-id": `a.${NOW_S}`, "webhook-timestamp": "2", "webhook-signature": signature };
  const lenient = new WebhookVerifier(secret, { toleranceS: 1e12 });
  const error = await assertRejects(
    () => lenient.verify({ headers: moved, body: "rest" }),
    WebhookVerificationError,
  );
  assertEquals(error.reason, "malformed header");
  await assertRejects(() => signer.sign("a.b", NOW_S, new Uint8Array()), TypeError, "full stop");
});

Deno.test("secrets that can't be read are refused without being told", async () => {
  const pair = await generateKeyPair();
  assertEquals(parseSecret(pair.privateKey).type, "private");
  assertThrows(() => new WebhookVerifier([]), TypeError, "none was given");
  const short = `whsec_${toBase64(new Uint8Array(23))}`;
  for (const bad of ["", "secret", "whsec_", "whsec_%%%", short, `whpk_${toBase64(new Uint8Array(31))}`]) {
    const error = assertThrows(() => new WebhookVerifier(bad), TypeError);
    assertStringIncludes(error.message, "Cannot use a");
    assert(bad.length < 10 || !error.message.includes(bad.slice(6)), error.message);
  }
  assertThrows(() => new WebhookVerifier(secret, { toleranceS: -1 }), RangeError, "toleranceS");
  await assertRejects(() => Signer.from([pair.publicKey]), TypeError, "only verifies");
});

Deno.test("a clock that tells no time is an error, and lets nothing through", async () => {
  const old = await signed("evt_1", 1_000_000);
  for (
    const [time, shown] of [[NaN, "NaN"], [Infinity, "Infinity"], [undefined, "undefined"], ["1", "string"]]
  ) {
    const broken = new WebhookVerifier(secret, { now: () => time as number });
    const error = await assertRejects(() => broken.verify({ headers: { ...old }, body }), TypeError);
    assertStringIncludes(
      error.message,
      `now() returned ${typeof time === "number" ? "" : "a value of type "}${shown}`,
    );
  }
  const later = new WebhookVerifier(secret, {
    now: () => Promise.resolve(NOW_S * 1000) as unknown as number,
  });
  await assertRejects(() => later.verify({ headers: { ...old }, body }), TypeError, "of type object");
});

Deno.test("a key of nothing but zeros is refused", () => {
  for (const [prefix, length] of [["whsec_", 32], ["whpk_", 32], ["whsk_", 64]] as const) {
    assertThrows(() => new WebhookVerifier(prefix + toBase64(new Uint8Array(length))), TypeError, "zeros");
  }
});
