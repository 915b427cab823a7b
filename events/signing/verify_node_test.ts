import { assertEquals } from "@std/assert";
import { generateKeyPair, generateSecret } from "./secret.ts";
import { Signer } from "./signer.ts";

const hasNode = await new Deno.Command("node", { args: ["--version"], stdout: "null", stderr: "null" })
  .output().then(({ success }) => success, () => false);

/** A receiver of node:http, as one without web-standard requests would write it. */
const RECEIVER = `
import { createServer } from "node:http";
import { WebhookVerifier } from "./verify.mjs";
const verifier = new WebhookVerifier(process.argv.slice(2));
createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    const { id } = await verifier.verify({ headers: request.headers, body: Buffer.concat(chunks) });
    response.end(id);
  } catch (error) {
    response.writeHead(400).end(error.reason);
  }
}).listen(0, "127.0.0.1", function () { console.log(this.address().port); });
`;

Deno.test({
  name: "the verifier runs under Node as it is",
  ignore: !hasNode,
  async fn() {
    const folder = await Deno.makeTempDir();
    const bundle = await new Deno.Command(Deno.execPath(), {
      args: [
        "bundle",
        "--quiet",
        "--output",
        `${folder}/verify.mjs`,
        new URL("./verify.ts", import.meta.url).href,
      ],
    }).output();
    assertEquals(bundle.success, true, new TextDecoder().decode(bundle.stderr));
    await Deno.writeTextFile(`${folder}/receiver.mjs`, RECEIVER);
    const secret = generateSecret();
    const { privateKey, publicKey } = await generateKeyPair();
    const node = new Deno.Command("node", {
      args: [`${folder}/receiver.mjs`, secret, publicKey],
      stdout: "piped",
    }).spawn();
    const reader = node.stdout.pipeThrough(new TextDecoderStream()).getReader();
    try {
      const url = `http://127.0.0.1:${Number((await reader.read()).value)}`;
      const body = '{"name":"Zo\u00eb \u{1f389}"}';
      for (const key of [secret, privateKey]) {
        const signer = await Signer.from([key]);
        const headers = await signer.sign(
          "evt_1",
          Math.floor(Date.now() / 1000),
          new TextEncoder().encode(body),
        );
        const post = (text: string) => fetch(url, { method: "POST", headers: { ...headers }, body: text });
        assertEquals(await (await post(body)).text(), "evt_1");
        assertEquals(await (await post(`${body} `)).text(), "wrong signature");
      }
    } finally {
      node.kill("SIGKILL");
      await reader.cancel();
      await node.status;
      await Deno.remove(folder, { recursive: true });
    }
  },
});
