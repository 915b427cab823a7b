/** Sends a webhook when this process may open no more files, as one with very many connections. Its argument is the URL. */
import { Connections } from "../_http_connections.ts";
import { postOver } from "../post.ts";

const post = postOver(new Connections());
const files: Deno.FsFile[] = [];
try {
  while (true) files.push(Deno.openSync("/dev/null"));
} catch {
  const input = { address: "127.0.0.1", url: Deno.args[0]!, headers: {}, body: "", timeoutMs: 5000 };
  const output = await post(input);
  for (const file of files) file.close();
  Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify(output)));
}
