/**
 * All that can be said of the code without running it (`deno task check`). Every step runs, also after one has failed.
 *
 * @module
 */
const root = decodeURIComponent(new URL("..", import.meta.url).pathname);
const { exports } = JSON.parse(await Deno.readTextFile(`${root}/deno.json`)) as {
  exports: Record<string, string>;
};

const STEPS: readonly (readonly [what: string, args: readonly string[]])[] = [
  ["format", ["fmt", "--check"]],
  ["lint", ["lint"]],
  ["types", ["check", "."]],
  ["code in documents", ["run", "--allow-all", "tools/snippets.ts"]],
  ["options in documents", ["run", "--allow-all", "tools/options_page.ts", "--check"]],
  ["public API", ["run", "--allow-all", "tools/api.ts", "--check"]],
  // One call: types of one entry that another uses would be reported as private otherwise.
  ["documentation", ["doc", "--lint", ...Object.values(exports)]],
  ["import boundary", ["run", "--allow-all", "tools/boundary.ts"]],
  ["publish, dry run", ["publish", "--dry-run", "--allow-dirty"]],
];

const failed: string[] = [];
for (const [what, args] of STEPS) {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args: [...args], cwd: root })
    .output();
  await say(`${success ? "ok  " : "FAIL"} ${what}`);
  if (success) continue;
  failed.push(what);
  await say(new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr));
}
await say(failed.length === 0 ? "Everything checks." : `Does not check: ${failed.join(", ")}.`);
Deno.exit(failed.length === 0 ? 0 : 1);

async function say(line: string): Promise<void> {
  const bytes = new TextEncoder().encode(`${line}\n`);
  for (let written = 0; written < bytes.length;) written += await Deno.stdout.write(bytes.subarray(written));
}
