import {
  assert,
  assertEquals,
  assertFalse,
  AssertionError,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { InvalidOptionError } from "../ports/errors.ts";
import { EmbeddedPostgresError, startEmbedded } from "./mod.ts";
import { isAlive } from "./postmaster_file.ts";

/** Starts a program that starts a server, reports it, and runs until its input ends or it is killed. */
async function startProgram(options: Record<string, unknown>) {
  const script = `
    import { startEmbedded } from ${JSON.stringify(new URL("./mod.ts", import.meta.url).href)};
    const server = await startEmbedded(${JSON.stringify(options)});
    const { url, pid, directory, joined } = server;
    console.log(JSON.stringify({ url, pid, directory, joined }));
    for await (const _ of Deno.stdin.readable);
    await server.stop();
  `;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["eval", script],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let line = "";
  while (!line.endsWith("\n")) {
    const { value, done } = await reader.read();
    if (done) break;
    line += value;
  }
  return {
    ...JSON.parse(line) as { url: string; pid: number; directory: string; joined: boolean },
    end: async () => {
      await child.stdin.close();
      await reader.cancel();
      assertEquals((await child.status).code, 0);
    },
    kill: async () => {
      child.kill("SIGKILL");
      await child.status;
      await child.stdin.abort().catch(() => {});
      await reader.cancel();
    },
  };
}

async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!await condition()) {
    if (Date.now() > deadline) throw new AssertionError(`Not within 10 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function accepts(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  try {
    (await Deno.connect({ hostname, port: Number(port) })).close();
    return true;
  } catch {
    return false;
  }
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

Deno.test("an ephemeral server takes connections, and leaves nothing behind when it is stopped", async () => {
  const server = await startEmbedded({ ephemeral: true });
  assert(await accepts(server.url));
  assertFalse(server.joined);
  await Promise.all([server.stop(), server.stop()]);
  assertFalse(await accepts(server.url));
  assertFalse(isAlive(server.pid));
  assertFalse(await exists(server.directory));
});

Deno.test("a server restarts on its port, also after it was killed", async () => {
  await using server = await startEmbedded({ ephemeral: true });
  const { pid, url } = server;
  await server.restart();
  assertNotEquals(server.pid, pid);
  assert(await accepts(url));
  Deno.kill(server.pid, "SIGKILL");
  await server.restart();
  assertEquals(server.url, url);
  assert(await accepts(url));
});

Deno.test("the server ends with a program that is killed, and its temporary folder goes", async () => {
  const program = await startProgram({ ephemeral: true });
  assert(await accepts(program.url));
  await program.kill();
  await until("the server has ended", () => !isAlive(program.pid));
  await until("its folder is gone", async () => !await exists(program.directory));
});

Deno.test("a program that throws while it stops its server leaves no temporary folder", async () => {
  const parent = await openTemporary();
  const script = `
    import { startEmbedded } from ${JSON.stringify(new URL("./mod.ts", import.meta.url).href)};
    const server = await startEmbedded({ ephemeral: true });
    server.stop();
    setTimeout(() => { throw new Error("in the middle") }, 5);
  `;
  try {
    const { code } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", script],
      env: { TMPDIR: parent },
      stderr: "null",
    }).output();
    assertEquals(code, 1);
    await until("its folder is gone", () => [...Deno.readDirSync(parent)].length === 0);
  } finally {
    await Deno.remove(parent, { recursive: true });
  }
});

Deno.test("a program that is killed at any moment of its start leaves no temporary folder", async () => {
  const parent = await openTemporary();
  const script = `
    import { startEmbedded } from ${JSON.stringify(new URL("./mod.ts", import.meta.url).href)};
    await startEmbedded({ ephemeral: true });
  `;
  const contents = () =>
    [...Deno.readDirSync(parent)].flatMap(({ name }) => [...Deno.readDirSync(`${parent}/${name}`)]);
  const moments: [string, () => boolean][] = [
    ["the folder is there", () => [...Deno.readDirSync(parent)].length > 0],
    ["initdb writes", () => contents().some(({ name }) => name === "data.new")],
    ["the server starts", () => contents().some(({ name }) => name === "server.log")],
  ];
  try {
    for (const [what, reached] of moments) {
      const child = new Deno.Command(Deno.execPath(), { args: ["eval", script], env: { TMPDIR: parent } })
        .spawn();
      await until(what, () => attempt(reached));
      child.kill("SIGKILL");
      await child.status;
      await until(
        `the folder is gone, killed when ${what}`,
        () => [...Deno.readDirSync(parent)].length === 0,
      );
    }
  } finally {
    await Deno.remove(parent, { recursive: true });
  }
});

/** Opens a folder for temporary files that the database's user can enter. */
async function openTemporary(): Promise<string> {
  const path = await Deno.makeTempDir();
  await Deno.chmod(path, 0o777);
  return path;
}

/** What `look` reads may disappear in between. */
function attempt(look: () => boolean): boolean {
  try {
    return look();
  } catch {
    return false;
  }
}

Deno.test("a second program in the same folder joins, and the server outlives the first", async () => {
  const directory = await Deno.makeTempDir({ prefix: "with spaces in it " });
  await Deno.chmod(directory, 0o755);
  try {
    const first = await startProgram({ directory });
    const second = await startEmbedded({ directory });
    assertEquals({ ...second, url: second.url, pid: second.pid, joined: second.joined }, {
      ...second,
      url: first.url,
      pid: first.pid,
      joined: true,
    });
    await first.kill();
    assert(await accepts(second.url));
    await second.stop();
    assertFalse(isAlive(second.pid));
    const again = await startEmbedded({ directory });
    assertFalse(again.joined);
    assertEquals(new URL(again.url).password, new URL(first.url).password);
    await again.stop();
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("programs that start in one folder at once share one server", async () => {
  const directory = await Deno.makeTempDir();
  await Deno.chmod(directory, 0o755);
  try {
    const programs = await Promise.all([1, 2, 3].map(() => startProgram({ directory })));
    assertEquals(new Set(programs.map((program) => program.url)).size, 1);
    assertEquals(programs.filter((program) => program.joined).length, 2);
    await Promise.all(programs.map((program) => program.end()));
    assertFalse(isAlive(programs[0]!.pid));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("what a killed server left behind is recovered, also when its process id is another program's", async () => {
  const directory = await Deno.makeTempDir();
  await Deno.chmod(directory, 0o755);
  try {
    const program = await startProgram({ directory });
    const stale = await Deno.readTextFile(`${directory}/postgres/data/postmaster.pid`);
    Deno.kill(program.pid, "SIGKILL");
    await program.kill();
    await until("the server has ended", () => !isAlive(program.pid));
    const path = `${directory}/postgres/data/postmaster.pid`;
    await Deno.writeTextFile(path, stale.replace(/^\d+/, String(Deno.pid)));
    const server = await startEmbedded({ directory });
    assertFalse(server.joined);
    assert(await accepts(server.url));
    await server.stop();
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("root's private folder works: the data is where the database's user can go", {
  ignore: Deno.uid() !== 0,
}, async () => {
  const directory = await Deno.makeTempDir({ prefix: "private-" });
  assertEquals((await Deno.stat(directory)).mode! & 0o777, 0o700);
  try {
    const server = await startEmbedded({ directory });
    assert(await accepts(server.url));
    await server.stop();
    const { home } = JSON.parse(await Deno.readTextFile(`${directory}/cluster.json`));
    assertStringIncludes(home, "/var/lib/millrace/");
    await Deno.remove(home, { recursive: true });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("mistakes are named: a taken port, another version's data, a folder that can't be, wrong options", async () => {
  const directory = await Deno.makeTempDir();
  await Deno.chmod(directory, 0o755);
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  try {
    await assertRejects(() => startEmbedded({ directory, port }), EmbeddedPostgresError, `port ${port}`);
    await using server = await startEmbedded({ directory });
    await assertRejects(
      () => startEmbedded({ directory, version: "17" }),
      EmbeddedPostgresError,
      "its data is PostgreSQL 18's",
    );
    await assertRejects(() => startEmbedded({ directory, port }), EmbeddedPostgresError, "runs already");
    assert(await accepts(server.url));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
  const file = await Deno.makeTempFile();
  await assertRejects(() => startEmbedded({ directory: `${file}/x` }), EmbeddedPostgresError, "Cannot make");
  await Deno.remove(file);
  await assertRejects(() => startEmbedded({ port: 70_000, ephemeral: true }), InvalidOptionError, "65535");
  await assertRejects(() => startEmbedded({ directory: "x", ephemeral: true }), InvalidOptionError);
  await assertRejects(
    () => startEmbedded({ ephemeral: true, settings: { no_such_setting: "1" } }),
    EmbeddedPostgresError,
    "no_such_setting",
  );
});
