import { assertEquals, assertStringIncludes } from "@std/assert";
import { describe } from "./digest.ts";
import { filesUnder } from "./files.ts";
import { ProgressBar } from "./progress_bar.ts";
import { summaryTable } from "./summary.ts";

Deno.test("describe() counts bytes and newlines across its chunks", async () => {
  const path = await Deno.makeTempFile();
  await Deno.writeTextFile(path, "line\n".repeat(30_000) + "no newline");
  const { bytes, lines } = await describe(path, new AbortController().signal);
  assertEquals({ bytes, lines }, { bytes: 150_010, lines: 30_000 });
  await Deno.writeTextFile(path, "");
  assertEquals(await describe(path, new AbortController().signal), {
    sha256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    bytes: 0,
    lines: 0,
  });
  await Deno.remove(path);
});

Deno.test("filesUnder() finds regular files, follows no links, leaves .git out", async () => {
  const directory = await Deno.makeTempDir();
  await Deno.mkdir(`${directory}/b/.git`, { recursive: true });
  for (const name of ["b/two", "b/.git/config", "a file", ".hidden"]) {
    await Deno.writeTextFile(`${directory}/${name}`, name);
  }
  await Deno.symlink(directory, `${directory}/loop`);
  const found = await filesUnder(directory);
  assertEquals(found.map((path) => path.slice(directory.length + 1)), [".hidden", "a file", "b/two"]);
  await Deno.remove(directory, { recursive: true });
});

Deno.test("ProgressBar moves in a terminal, and prints quarters elsewhere", () => {
  let text = "";
  const plain = new ProgressBar(8, (part) => text += part, false);
  for (let done = 0; done <= 8; done++) plain.show(done);
  assertEquals(text, "25 %: 2 of 8 files\n50 %: 4 of 8 files\n75 %: 6 of 8 files\n100 %: 8 of 8 files\n");
  text = "";
  const moving = new ProgressBar(2, (part) => text += part, true);
  moving.show(1);
  moving.show(2);
  assertEquals(
    text,
    `\r[${"#".repeat(20)}${"-".repeat(20)}] 1 of 2\r[${"#".repeat(40)}] 2 of 2\n`,
  );
});

const WEBHOOKS = { url: null, delivered: 1200, others: 0, verified: 1200 };

Deno.test("summaryTable() lines its columns up", () => {
  const result = { files: 1200, bytes: 5, lines: 3, ms: 2000, attempts: 1201, failures: 0, failed: [] };
  const extensions = [{ extension: ".ts", files: 900 }];
  const table = summaryTable({
    ...result,
    extensions,
    webhooks: WEBHOOKS,
    threads: new Map([["ab12", 1200]]),
  });
  assertStringIncludes(table, "  files        1,200\n");
  assertStringIncludes(table, "  retries          1\n");
  assertStringIncludes(table, "  thread ab12  1,200\n");
  assertStringIncludes(table, "  events .ts     900\n");
});

Deno.test("summaryTable() names files that failed, and says how many more there are", () => {
  const result = {
    files: 9,
    bytes: 5,
    lines: 3,
    ms: 2000,
    attempts: 9,
    failures: 4,
    webhooks: WEBHOOKS,
    threads: new Map(),
    extensions: [],
  };
  const failed = [{ path: "/a\nb", reason: "it is gone" }];
  assertStringIncludes(
    summaryTable({ ...result, failed }),
    '\nNot described:\n  "/a\\nb": it is gone\n  and 3 more\n',
  );
});
