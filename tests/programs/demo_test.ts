import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { descendants, Program } from "./program.ts";

/** A folder with files of every awkward sort: empty, large, binary, no newline at the end, names with spaces. */
async function makeFiles(parent?: string): Promise<string> {
  const folder = await Deno.makeTempDir({
    prefix: "files in a folder ",
    ...(parent === undefined ? {} : { dir: parent }),
  });
  await Deno.chmod(folder, 0o755);
  await Deno.mkdir(`${folder}/a folder/ü`, { recursive: true });
  await Deno.writeTextFile(`${folder}/empty`, "");
  await Deno.writeTextFile(`${folder}/a folder/one line`, "no newline");
  await Deno.writeTextFile(`${folder}/a folder/ü/'quoted'.txt`, "a\nb\n");
  for (const name of ["back\\slash", "new\nline", "return\r", "\\n"]) {
    await Deno.writeTextFile(`${folder}/a folder/${name}`, "x\n");
  }
  const bytes = new Uint8Array(3 * 1024 * 1024);
  for (let at = 0; at < bytes.length; at += 65536) crypto.getRandomValues(bytes.subarray(at, at + 65536));
  await Deno.writeFile(`${folder}/large.bin`, bytes);
  for (let index = 0; index < 30; index++) await Deno.writeTextFile(`${folder}/${index}.txt`, `${index}\n`);
  return folder;
}

const FILES = 38;

/** Asks the real `sha256sum` whether it agrees. */
async function checkDigests(list: string): Promise<void> {
  const child = new Deno.Command("sha256sum", {
    args: ["--check", "--strict", "--quiet"],
    stdin: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(list));
  await writer.close();
  const { success, stderr } = await child.output();
  assert(success, new TextDecoder().decode(stderr));
}

Deno.test("the demo's digests agree with sha256sum; it shows one retry, and leaves nothing behind", async () => {
  const folder = await makeFiles();
  const temporary = await Deno.makeTempDir();
  await Deno.chmod(temporary, 0o777);
  try {
    await using demo = new Program("demo", [folder, "--list", "--threads", "2"], {
      env: { TMPDIR: temporary },
    });
    const { code } = await demo.end();
    assertEquals(code, 0, demo.stderr);
    assertEquals(demo.stdout.trimEnd().split("\n").length, FILES);
    await checkDigests(demo.stdout);
    assertMatch(demo.stderr, new RegExp(`files +${FILES}\n`));
    assertMatch(demo.stderr, new RegExp(`attempts +${FILES + 1}\n`));
    assertMatch(demo.stderr, /retries +1\n/);
    assertMatch(demo.stderr, /failures +0\n/);
    assertMatch(demo.stderr, /thread [0-9a-f]{8} +\d+\n/);
    assertMatch(demo.stderr, /events \S+ +\d+\n/);
    assertStringIncludes(demo.stderr, `100 %: ${FILES} of ${FILES} files`);
    assertEquals([...Deno.readDirSync(temporary)], []);
  } finally {
    await Deno.remove(folder, { recursive: true });
    await Deno.remove(temporary, { recursive: true });
  }
});

Deno.test("two demos at once, from a path with spaces, do not disturb each other", async () => {
  const folder = await makeFiles();
  try {
    const demos = [1, 2].map(() => new Program("demo", [".", "--list"], { cwd: folder }));
    for (const demo of demos) {
      await using running = demo;
      assertEquals((await running.end()).code, 0, running.stderr);
      await checkDigests(running.stdout);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("--keep leaves the worker and the database up until a signal", async () => {
  const folder = await makeFiles();
  try {
    await using demo = new Program("demo", [folder, "--keep"]);
    await demo.until("the address", () => demo.stdout.includes("postgres://"));
    const { hostname, port } = new URL(/postgres:\S+/.exec(demo.stdout)![0]);
    (await Deno.connect({ hostname, port: Number(port) })).close();
    const below = await descendants(demo.pid);
    assert(below.length > 0);
    demo.signal("SIGINT");
    assertEquals((await demo.end()).code, 0);
    for (const pid of below) await gone(pid);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

for (
  const [when, printed, files] of [["PostgreSQL starts", "Starting", 1], ["jobs run", "25 %", 400]] as const
) {
  Deno.test(`Ctrl-C while ${when} ends the demo with 130, and nothing is left behind`, async () => {
    const folder = await Deno.makeTempDir();
    const temporary = await Deno.makeTempDir();
    await Deno.chmod(temporary, 0o777);
    for (let index = 0; index < files; index++) await Deno.writeTextFile(`${folder}/${index}`, `${index}`);
    try {
      // It depended on what was under way at that moment.
      for (let attempt = 0; attempt < 3; attempt++) {
        await using demo = new Program("demo", [folder], { env: { TMPDIR: temporary }, group: true });
        await demo.until(printed, () => demo.stdout.includes(printed));
        if (when === "PostgreSQL starts") {
          await demo.until("initdb", () => [...Deno.readDirSync(temporary)].length > 0);
        }
        demo.interruptGroup();
        assertEquals((await demo.end()).code, 130, demo.stderr);
        assertEquals(demo.stderr, "");
        assert(demo.stdout.endsWith("\nInterrupted.\n"), demo.stdout);
        assertEquals([...Deno.readDirSync(temporary)], []);
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
      await Deno.remove(temporary, { recursive: true });
    }
  });
}

Deno.test("a second Ctrl-C ends the demo at once, and its database goes all the same", async () => {
  const folder = await makeFiles();
  const temporary = await Deno.makeTempDir();
  await Deno.chmod(temporary, 0o777);
  try {
    await using demo = new Program("demo", [folder], { env: { TMPDIR: temporary } });
    await demo.until("a start", () => demo.stdout.includes("PostgreSQL 18"));
    demo.signal("SIGINT");
    await demo.until("a word", () => demo.stdout.includes("Interrupted."));
    await new Promise((resolve) => setTimeout(resolve, 300));
    // It may have ended by itself in the meantime.
    try {
      demo.signal("SIGINT");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
    assertEquals((await demo.end()).code, 130, demo.stderr);
    const deadline = Date.now() + 15_000;
    while ([...Deno.readDirSync(temporary)].length > 0) {
      assert(Date.now() < deadline, "the folder is still there");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
    await Deno.remove(temporary, { recursive: true });
  }
});

Deno.test(
  "an ordinary user's demo: files that can't be read are failures with a reason, and the exit code says so",
  {
    ignore: Deno.uid() !== 0,
  },
  async () => {
    const folder = await makeFiles();
    await Deno.writeTextFile(`${folder}/secret`, "mine");
    await Deno.chmod(`${folder}/secret`, 0o000);
    const { success } = await new Deno.Command("sh", {
      args: ["-c", 'touch "$1/$(printf "\\377")"', "sh", folder],
    })
      .output();
    assert(success);
    const home = await Deno.makeTempDir();
    try {
      await using demo = new Program("demo", [folder], await asNobody(home));
      assertEquals((await demo.end()).code, 1, demo.stdout + demo.stderr);
      assertMatch(demo.stdout, /failures +2\n/);
      assertMatch(demo.stdout, new RegExp(`files +${FILES + 2}\n`));
      assertStringIncludes(
        demo.stdout,
        `${JSON.stringify(`${folder}/secret`)}: it can't be read by this user\n`,
      );
      assertStringIncludes(demo.stdout, `${JSON.stringify(`${folder}/\uFFFD`)}: its name is not UTF-8\n`);
    } finally {
      await Deno.remove(home, { recursive: true });
      await Deno.remove(folder, { recursive: true });
    }
  },
);

Deno.test("a directory that begins with a dash follows --", async () => {
  const parent = await Deno.makeTempDir();
  await Deno.mkdir(`${parent}/--list`);
  try {
    await using demo = new Program("demo", ["--", "--list"], { cwd: parent });
    assertEquals((await demo.end()).code, 0, demo.stderr);
    assertStringIncludes(demo.stdout, `0 files under ${await Deno.realPath(parent)}/--list\n`);
  } finally {
    await Deno.remove(parent, { recursive: true });
  }
});

Deno.test("the demo names what it can't use, and helps", async () => {
  await using wrong = new Program("demo", ["/not/there"]);
  assertEquals((await wrong.end()).code, 2);
  assertStringIncludes(wrong.stderr, 'Cannot use "/not/there": expected a directory');
  await using help = new Program("demo", ["--help"]);
  assertEquals((await help.end()).code, 0);
  assertStringIncludes(help.stdout, "Usage: deno task demo");
});

/** An ordinary user with a home and a cache of its own. */
async function asNobody(
  home: string,
): Promise<{ user: { uid: number; gid: number }; env: Record<string, string> }> {
  const user = { uid: 65534, gid: 65534 };
  await Deno.chown(home, user.uid, user.gid);
  return { user, env: { HOME: home, DENO_DIR: `${home}/deno`, XDG_CACHE_HOME: "" } };
}

async function gone(pid: number): Promise<void> {
  const deadline = Date.now() + 15_000;
  const stat = () => Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "0 (gone) Z ");
  while (!/\) [ZX] /.test(await stat())) {
    assert(Date.now() < deadline, `process ${pid} still runs`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
