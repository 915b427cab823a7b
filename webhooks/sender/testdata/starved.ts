/** Sends a webhook when this process may open no more files, as one with very many connections. Its argument is the URL. */
import { createPoster } from "../post.ts";

const { post } = createPoster();
const files: Deno.FsFile[] = [];
try {
  while (true) files.push(Deno.openSync("/dev/null"));
} catch {
  const input = { addresses: ["127.0.0.1"], url: Deno.args[0]!, headers: {}, body: "", timeoutMs: 5000 };
  const output = await post(input);
  for (const file of files) file.close();
  Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify(output)));
}
