import { assert } from "@std/assert";

/** A folder with files of every awkward sort: empty, large, binary, no newline at the end, names with spaces. */
export async function makeFiles(parent?: string): Promise<string> {
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

/** How many they are. */
export const FILES = 38;

/** Asks the real `sha256sum` whether it agrees. */
export async function checkDigests(list: string): Promise<void> {
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
