import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { checkDigests, FILES, makeFiles } from "./demo_files.ts";
import { Program } from "./program.ts";

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
