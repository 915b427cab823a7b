import type { Program } from "../peer_process.ts";

const NODE_VERSION_MIN = [22, 18] as const;
/** Where the machine's Node is older than the peers want. */
const NODE_PACKAGE_VERSION = "22.23.5";

const here = (path: string): string => decodeURIComponent(new URL(path, import.meta.url).pathname);

let node: Promise<string | null> | undefined;
let river: Promise<string | null> | undefined;

/** A peer that is a library for Node, run by Node. A text says what is missing. */
export async function nodeProgram(file: string): Promise<Program | string> {
  const command = await (node ??= installNode());
  if (command === null) return "npm is missing or could not install it";
  return { command, args: [here(`./node/${file}`)], cwd: here("./node") };
}

/** River, compiled. A text says what is missing. */
export async function riverProgram(): Promise<Program | string> {
  const command = await (river ??= buildRiver());
  return command === null ? "Go is missing or could not build it" : { command, args: [] };
}

async function installNode(): Promise<string | null> {
  const folder = here("./node");
  const packages = `node-${Deno.build.os}-${Deno.build.arch === "aarch64" ? "arm64" : "x64"}`;
  const own = `${folder}/node_modules/${packages}/bin/node`;
  const isNew = await isNewEnough("node");
  if (await run("npm", ["ls", "--silent"], folder) === null || !(isNew || await isNewEnough(own))) {
    const more = isNew ? [] : [`${packages}@${NODE_PACKAGE_VERSION}`];
    const args = ["install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", ...more];
    if (await run("npm", args, folder) === null) return null;
  }
  return isNew ? "node" : own;
}

async function isNewEnough(command: string): Promise<boolean> {
  const version = /^v(\d+)\.(\d+)\./.exec(await run(command, ["--version"], here(".")) ?? "");
  if (version === null) return false;
  const [major, minor] = [Number(version[1]), Number(version[2])];
  return major > NODE_VERSION_MIN[0] || (major === NODE_VERSION_MIN[0] && minor >= NODE_VERSION_MIN[1]);
}

async function buildRiver(): Promise<string | null> {
  const folder = here("./river");
  return await run("go", ["build", "-o", "node_modules/river", "."], folder) === null
    ? null
    : `${folder}/node_modules/river`;
}

/** What it printed, or null when it is missing or failed. */
async function run(command: string, args: readonly string[], cwd: string): Promise<string | null> {
  try {
    const { success, stdout } = await new Deno.Command(command, { args: [...args], cwd }).output();
    return success ? new TextDecoder().decode(stdout) : null;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
