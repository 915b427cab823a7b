import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { checkDigests, FILES, makeFiles } from "./demo_files.ts";
import { descendants, gone, Program } from "./program.ts";

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

for (const [when, printed] of [["PostgreSQL starts", "Starting"], ["jobs run", "25 %"]] as const) {
  Deno.test(`Ctrl-C while ${when} ends the demo with 130, and nothing is left behind`, async () => {
    const folder = await Deno.makeTempDir();
    const temporary = await Deno.makeTempDir();
    await Deno.chmod(temporary, 0o777);
    for (let index = 0; index < 1500; index++) await Deno.writeTextFile(`${folder}/${index}`, `${index}`);
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

/** An ordinary user with a home and a cache of its own. */
async function asNobody(
  home: string,
): Promise<{ user: { uid: number; gid: number }; env: Record<string, string> }> {
  const user = { uid: 65534, gid: 65534 };
  await Deno.chown(home, user.uid, user.gid);
  return { user, env: { HOME: home, DENO_DIR: `${home}/deno`, XDG_CACHE_HOME: "" } };
}
