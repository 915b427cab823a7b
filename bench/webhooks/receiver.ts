/**
 * The other side of the webhooks' benchmark, in a process of its own: takes everything, and tells on request how many it
 * got, when, and how late.
 *
 * @module
 */
let [count, firstAt, lastAt] = [0, 0, 0];
let latencies: number[] = [];

const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
  if (request.method === "GET") return Response.json({ count, firstAt, lastAt, latencies });
  if (request.method === "DELETE") {
    [count, firstAt, lastAt, latencies] = [0, 0, 0, []];
    return new Response();
  }
  const { data } = await request.json();
  lastAt = Date.now();
  if (count++ === 0) firstAt = lastAt;
  if (typeof data?.at === "number") latencies.push(lastAt - data.at);
  return new Response("ok");
});
await Deno.stdout.write(new TextEncoder().encode(`${server.addr.port}\n`));
