import { assertEquals } from "@std/assert";
import { Program } from "./program.ts";

/** Runs a command as process 1 of a namespace of its own. */
const UNSHARE = ["--pid", "--fork", "--kill-child"];

const canBeOne = await new Deno.Command("unshare", { args: [...UNSHARE, "true"], stderr: "null" }).output()
  .then(
    ({ success }) => success,
    () => false,
  );

/** The events that a worker's supervisor tells of, whose application is not there. */
async function told(command: string, args: readonly string[]): Promise<string[]> {
  const { stdout } = await new Deno.Command(command, { args: [...args], stdin: "null", stderr: "null" })
    .output();
  const lines = new TextDecoder().decode(stdout).trim().split("\n");
  return lines.map((line) => JSON.parse(line).event);
}

Deno.test({
  name: "a worker that is process 1 says that it needs an init, once; any other says nothing of it",
  ignore: !canBeOne,
  async fn() {
    const supervisor = new URL("../../programs/supervisor.ts", import.meta.url).href;
    const run = [
      "run",
      "--allow-all",
      "--no-check",
      supervisor,
      "--embedded",
      "tests/programs/apps/not_there.ts",
    ];
    const warning = "this is process 1, without an init";
    assertEquals(await told("unshare", [...UNSHARE, Deno.execPath(), ...run]), [warning, "worker starting"]);
    await using program = new Program("supervisor", ["tests/programs/apps/not_there.ts"]);
    await program.end();
    assertEquals(program.log.map(({ event }) => event), ["worker starting"]);
  },
});
