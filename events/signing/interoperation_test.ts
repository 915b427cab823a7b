import { assertEquals, assertRejects } from "@std/assert";
import { Buffer } from "node:buffer";
import { createPrivateKey, createPublicKey, sign as nodeSign, verify as nodeVerify } from "node:crypto";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { fromBase64 } from "./base64.ts";
import { generateKeyPair, generateSecret, parseSecret } from "./secret.ts";
import { Signer } from "./signer.ts";
import { randomBody } from "./testdata/random_body.ts";
import { WebhookVerificationError, WebhookVerifier } from "./verify.ts";

const BODIES = 1000;
const NOW_S = Math.floor(Date.now() / 1000);

Deno.test("standardwebhooks and svix verify what is signed, byte for byte", async () => {
  const [old, current] = [generateSecret(), generateSecret()];
  const { privateKey } = await generateKeyPair();
  const ways = [[current], [current, old], [privateKey, current], [old, privateKey, current]];
  const signers = await Promise.all(ways.map((secrets) => Signer.from(secrets)));
  const receivers = [new StandardWebhook(current), new SvixWebhook(current)];
  for (let index = 0; index < BODIES; index++) {
    const text = randomBody(index);
    const signed = await signers[index % signers.length]!.sign(
      crypto.randomUUID(),
      NOW_S,
      new TextEncoder().encode(text),
    );
    for (const receiver of receivers) receiver.verify(text, { ...signed });
  }
});

Deno.test("the verifier accepts what standardwebhooks and svix sign, with any of its secrets", async () => {
  const [old, current] = [generateSecret(), generateSecret()];
  const verifier = new WebhookVerifier([current, old]);
  const senders = [current, old].flatMap((secret) => [new StandardWebhook(secret), new SvixWebhook(secret)]);
  for (let index = 0; index < BODIES; index++) {
    const text = randomBody(index);
    const id = crypto.randomUUID();
    const one = senders[index % senders.length]!.sign(id, new Date(NOW_S * 1000), text);
    const other = new StandardWebhook(generateSecret()).sign(id, new Date(NOW_S * 1000), text);
    const headers = {
      "webhook-id": id,
      "webhook-timestamp": String(NOW_S),
      "webhook-signature": index % 2 === 0 ? one : `v9,unknown ${other} ${one}`,
    };
    const verified = await verifier.verify({ headers, body: text });
    assertEquals(new TextDecoder().decode(verified.body), text);
    const changed = { headers, body: `${text} ` };
    const refused = await assertRejects(() => verifier.verify(changed), WebhookVerificationError);
    assertEquals(refused.reason, "wrong signature");
  }
});

Deno.test("ed25519: another implementation verifies what is signed, and the verifier accepts what it signs", async () => {
  const { privateKey, publicKey } = await generateKeyPair();
  const signer = await Signer.from([privateKey]);
  const verifier = new WebhookVerifier([generateSecret(), publicKey]);
  const parsed = parseSecret(privateKey);
  if (parsed.type !== "private") throw new Error("expected a private key");
  const jwk = {
    kty: "OKP",
    crv: "Ed25519",
    d: Buffer.from(parsed.seed).toString("base64url"),
    x: Buffer.from(parsed.publicKey).toString("base64url"),
  };
  const theirs = createPrivateKey({ key: jwk, format: "jwk" });
  const theirPublic = createPublicKey({ key: { kty: jwk.kty, crv: jwk.crv, x: jwk.x }, format: "jwk" });
  for (let index = 0; index < BODIES; index++) {
    const text = randomBody(index);
    const id = crypto.randomUUID();
    const signed = await signer.sign(id, NOW_S, new TextEncoder().encode(text));
    const [version, signature] = signed["webhook-signature"].split(",");
    const content = Buffer.from(`${id}.${NOW_S}.${text}`);
    assertEquals(version, "v1a");
    assertEquals(nodeVerify(null, content, theirPublic, fromBase64(signature!)!), true);
    const headers = {
      "webhook-id": id,
      "webhook-timestamp": String(NOW_S),
      "webhook-signature": `v1a,${nodeSign(null, content, theirs).toString("base64")}`,
    };
    await verifier.verify({ headers, body: text });
  }
});

Deno.test("ed25519: the known vector of another sender is signed and verified the same", async () => {
  const privateKey =
    "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==";
  const signature =
    "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==";
  const body = '{"test": 2432232314}';
  const signer = await Signer.from([privateKey]);
  const signed = await signer.sign(
    "msg_p5jXN8AQM9LWM0D4loKWxJek",
    1614265330,
    new TextEncoder().encode(body),
  );
  assertEquals(signed["webhook-signature"], signature);
  const verifier = new WebhookVerifier("whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=", {
    now: () => 1614265330_000,
  });
  await verifier.verify({ headers: { ...signed }, body });
});
