/// <reference lib="deno.worker" />
import {
  CallNotAllowedError,
  EnqueueNotAllowedError,
  TooLargeError,
  UndeclaredKindError,
} from "../../ports/errors.ts";
import { discard, type Handler, type JobContext, snooze } from "../../ports/handler.ts";
import type { EnqueueRequest } from "../../ports/jobs.ts";
import type { Json } from "../../ports/json.ts";
import type { Permissions } from "../../ports/permissions.ts";

const NESTED = "data:text/javascript,self.postMessage(1)";

/** One module for many tests: `args.do` says what its handler does. */
const actions: Record<
  string,
  (args: Record<string, Json>, ctx: JobContext) => Promise<Json | void> | Json | void
> = {
  echo: (args) => args,
  nothing: () => {},
  context: ({ ...args }, ctx) => ({
    args,
    id: ctx.id,
    kind: ctx.kind,
    queue: ctx.queue,
    attempt: ctx.attempt,
    maxAttempts: ctx.maxAttempts,
    aborted: ctx.signal.aborted,
  }),
  fail: (args) => {
    throw new Error(String(args["message"] ?? "it failed"));
  },
  throwUndefined: () => {
    throw undefined;
  },
  throwString: () => {
    throw "just text";
  },
  throwGetter: () => {
    throw Object.freeze({
      get message(): string {
        throw new Error("no message for you");
      },
      get millraceOutcome(): string {
        throw new Error("nor a mark");
      },
      toString(): string {
        throw new Error("nor text");
      },
    });
  },
  throwLong: () => {
    throw new Error("x".repeat(8191) + "\u{1f600}" + "\0");
  },
  returnFunction: () => ({ f: (() => {}) as unknown as Json }),
  returnLarge: () => "x".repeat(65 * 1024),
  snooze: (args) => {
    throw snooze(Number(args["ms"]));
  },
  discard: () => {
    throw discard("the receiver is gone");
  },
  sleep: async (args, ctx) => {
    if (args["tell"] === true) ctx.progress(0, "started");
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, Number(args["ms"]));
      if (args["heed"] === true) {
        ctx.signal.addEventListener("abort", () => {
          clearTimeout(timer);
          reject(ctx.signal.reason);
        });
      }
    });
    return "slept";
  },
  compute: (args) => {
    const end = performance.now() + Number(args["ms"]);
    while (performance.now() < end);
    return "computed";
  },
  spin: () => {
    while (true);
  },
  spinLater: async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    while (true);
  },
  spinWhenTold: async (args, ctx) => {
    ctx.progress(0, "started");
    await new Promise((resolve) => setTimeout(resolve, Number(args["ms"])));
    while (true);
  },
  atomicsWait: () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  },
  regexp: () => /^(a+)+$/.test("a".repeat(60) + "!"),
  postMessage: () => {
    self.postMessage({ hello: 1 });
  },
  takeMessages: () => {
    self.onmessage = () => {};
  },
  callWithFunction: async (_args, ctx) => {
    await ctx.call(import.meta.url, { f: (() => {}) as unknown as Json });
  },
  rejectNow: async () => {
    Promise.reject(new Error("nobody awaits me"));
    await new Promise((resolve) => setTimeout(resolve, 3000));
  },
  throwInTimer: async () => {
    setTimeout(() => {
      throw new Error("thrown in a timer");
    }, 5);
    await new Promise((resolve) => setTimeout(resolve, 3000));
  },
  rejectLater: () => {
    setTimeout(() => Promise.reject(new Error("too late to matter")), 50);
    return "done";
  },
  exit: async () => {
    await Promise.resolve();
    Deno.exit(1);
  },
  close: async () => {
    await Promise.resolve();
    self.close();
  },
  print: () => {
    // deno-lint-ignore no-console -- printing is what is tested
    console.log("two\nlines");
    // deno-lint-ignore no-console -- printing is what is tested
    console.error("and %s", "one");
  },
  unstable: async (args) => {
    const what: Record<string, () => unknown> = {
      workerNone: () => new Worker(NESTED, { type: "module", deno: { permissions: "none" } }),
      workerInherit: () => new Worker(NESTED, { type: "module", deno: { permissions: "inherit" } }),
      workerList: () => new Worker(NESTED, { type: "module", deno: { permissions: { read: true } } }),
      listen: () => Deno.listen({ transport: "vsock", cid: 1, port: 9 }),
      connect: () => Deno.connect({ transport: "vsock", cid: 1, port: 9 }),
      serve: () => Deno.serve({ transport: "vsock", cid: 1, port: 9 }, () => new Response()),
    };
    try {
      await what[String(args["what"])]!();
      return "it was let";
    } catch (error) {
      return String(error);
    }
  },
  nested: async (args) => {
    const worker = new Worker(`data:text/javascript,${args["code"]}`, { type: "module", name: "nested" });
    return await new Promise<Json>((resolve) => {
      worker.onmessage = (event) => resolve(event.data);
      setTimeout(() => resolve("nothing came"), 2000);
    });
  },
  rawFlood: async (args) => {
    // Loaded here alone: it takes so long that a thread counts as blocked meanwhile.
    const { writeSync } = await import("node:fs");
    const chunk = new Uint8Array(1024 * 1024).fill(120);
    if (args["newlines"] === true) { for (let at = 1; at < chunk.length; at += 20) chunk[at] = 10; }
    for (let at = 0; at < Number(args["mebibytes"]); at++) {
      for (let done = 0; done < chunk.length;) done += writeSync(Number(args["fd"]), chunk.subarray(done));
    }
    return "written";
  },
  longLine: (_args, ctx) => {
    // deno-lint-ignore no-console -- printing is what is tested
    console.log("x".repeat(100_000));
    ctx.log.info("y".repeat(100_000), { text: "z".repeat(100_000), more: "ok" });
    ctx.log.info("many", Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`f${i}`, i])));
  },
  logFlood: async (args, ctx) => {
    for (let i = 0; i < Number(args["lines"]); i++) {
      if (args["how"] === "log") ctx.log.info("flood", { text: "x".repeat(200) });
      // deno-lint-ignore no-console -- printing is what is tested
      else if (args["how"] === "print") console.log("x".repeat(200));
      else ctx.progress(i / Number(args["lines"]), "x".repeat(200));
      if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    return "done";
  },
  log: (_args, ctx) => ctx.log.info("hello", { n: 1 }),
  progress: async (_args, ctx) => {
    ctx.progress(0.25, "a quarter");
    await new Promise((resolve) => setTimeout(resolve, 20));
    ctx.progress(1);
  },
  badProgress: (_args, ctx) => ctx.progress(2),
  jobs: async (args, ctx) => {
    const request = args["request"] as unknown as EnqueueRequest;
    const { kind, args: given, ...options } = request;
    try {
      switch (args["method"]) {
        case "enqueue":
          return await ctx.jobs.enqueue(kind, given, options);
        case "offer":
          return { ...await ctx.jobs.offer(kind, given, options) };
        case "enqueueMany":
          return await ctx.jobs.enqueueMany([request, request]);
        case "cancel":
          return { ...await ctx.jobs.cancel(kind) };
        default:
          return await ctx.jobs.enqueueMany(
            Array.from({ length: 5 }, () => ({ kind, args: "x".repeat(1_000_000) })),
          );
      }
    } catch (error) {
      if (error instanceof EnqueueNotAllowedError) return { beyond: [...error.beyond] };
      if (error instanceof UndeclaredKindError) return { undeclared: error.kind };
      if (error instanceof TooLargeError) return { max: error.max };
      return String(error);
    }
  },
  jobsIn: async (args, ctx) => {
    const statements: string[] = [];
    let xid = 1;
    const rows: Record<string, unknown>[] = [];
    const tx = {
      unsafe: (text: string, params: unknown[]) => {
        statements.push(text);
        if (text === "the transaction") return Promise.resolve([{ id: xid }]);
        if (args["code"] !== undefined) {
          throw Object.assign(new Error("the driver's own"), { code: args["code"] });
        }
        rows.push({ id: 7n, params: params.length });
        return Promise.resolve(rows);
      },
    };
    const enqueued = ctx.jobs.with(tx).enqueue("mail");
    if (args["ends"] === true) xid = 2;
    try {
      return { id: await enqueued, statements };
    } catch (error) {
      const { name, message, cause } = error as Error;
      return { name, message, cause: cause instanceof Error ? cause.message : null, statements };
    }
  },
  crashAndTell: async (_args, ctx) => {
    const told = new Promise<Json>((resolve) => {
      ctx.signal.addEventListener("abort", () => resolve(String(ctx.signal.reason)));
    });
    setTimeout(() => {
      throw new Error("nobody catches");
    });
    ctx.log.info("told", { reason: String(await told) });
  },
  completeIn: async (args, ctx) => {
    const rows = args["rows"] as readonly Record<string, unknown>[];
    const seen: unknown[] = [];
    await ctx.completeIn({
      unsafe: (text, params) => {
        seen.push(text, params);
        if ("code" in args) {
          throw Object.assign(new Error("could not serialize access"), { code: args["code"] });
        }
        return Promise.resolve(rows);
      },
    }, { ok: true });
    return "not kept";
  },
  call: (args, ctx) => {
    const { timeout, permissions } = args;
    return ctx.call(String(args["module"]), args["input"] ?? null, {
      ...(typeof timeout === "number" ? { timeout } : {}),
      ...(permissions === undefined ? {} : { permissions: permissions as Permissions }),
    });
  },
  callCaught: async (args, ctx) => {
    try {
      await ctx.call(String(args["module"]), null, { permissions: args["permissions"] as Permissions });
      return "it was made";
    } catch (error) {
      if (!(error instanceof CallNotAllowedError)) throw error;
      return [...error.beyond];
    }
  },
  callMany: async (args, ctx) => {
    const modules = args["modules"] as readonly string[];
    return (await Promise.all(modules.map((module) => ctx.call(module, args["input"] ?? 0)))).length;
  },
  contextKeys: (_args, ctx) => Object.keys(ctx),
  replaceGlobal: () => {
    Reflect.set(globalThis, "replaced", true);
  },
  isReplaced: () => Reflect.get(globalThis, "replaced") === true,
  cache: async (args) => {
    const cache = await caches.open("shared");
    const found = await (await cache.match("https://example.com/"))?.text();
    if (typeof args["put"] === "string") await cache.put("https://example.com/", new Response(args["put"]));
    return found ?? null;
  },
  import: async (args) => Object.keys(await import(String(args["module"]))),
  kill: () => {
    Deno.kill(Deno.pid, "SIGKILL");
  },
  memory: () => {
    const held: unknown[] = [];
    while (true) held.push(new Array(1e5).fill(held.length));
  },
  buffers: async () => {
    const held: Uint8Array[] = [];
    for (let i = 0; i < 400; i++) {
      held.push(new Uint8Array(4 * 1024 * 1024).fill(1));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return held.length;
  },
  read: async (args) => (await Deno.readTextFile(String(args["path"]))).length,
  env: (args) => Deno.env.get(String(args["name"])) ?? null,
  net: async (args) => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(args["port"]) });
    connection.close();
    return "connected";
  },
  run: async () => {
    await new Deno.Command(Deno.execPath(), { args: ["--version"] }).output();
  },
  rawOutput: async () => {
    Deno.stdout.writeSync(new TextEncoder().encode("raw without newline"));
    await Deno.stderr.write(new TextEncoder().encode("raw error\n"));
    return "written";
  },
  pid: () => Deno.pid,
};

const handler: Handler = (args, ctx) => {
  const given = args as Record<string, Json>;
  const action = actions[String(given["do"] ?? "echo")];
  if (action === undefined) throw new Error(`there is no action ${given["do"]}`);
  return action(given, ctx);
};

export default handler;
