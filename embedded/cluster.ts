import { type Account, canEnter, commandAs, giveTo, ownerOf, serverAccount } from "./account.ts";
import { ensureBinaries } from "./binaries.ts";
import { EmbeddedPostgresError } from "./error.ts";
import { DEFAULT_VERSION, exactVersion, majorOf } from "./platform.ts";
import { makeTemporaryHome, type TemporaryHome } from "./temporary_home.ts";

/** A data directory that is ready to start. */
export interface Cluster {
  /** The folder with the data directory, the server's log and the files that keep the server alive. */
  readonly home: string;
  /** The data directory. */
  readonly data: string;
  /** The folder of the binaries. */
  readonly binaries: string;
  /** The exact release. */
  readonly version: string;
  /** The account that runs the server; null is the current user. */
  readonly account: Account | null;
  /** The superuser's password. */
  readonly password: string;
  /** The temporary folder, if the data is in one. */
  readonly temporary: TemporaryHome | null;
}

/** The file stored beside a data directory, readable only by its owner. */
interface ClusterFile {
  readonly home: string;
  readonly password: string;
}

/** Creates a new data directory in a temporary folder. */
export async function temporaryCluster(version: string | undefined, fetching: () => void): Promise<Cluster> {
  const exact = exactVersion(version ?? DEFAULT_VERSION);
  const binaries = await ensureBinaries(exact, fetching);
  const account = await serverAccount();
  const temporary = await makeTemporaryHome(account);
  const made = { home: temporary.path, temporary, password: randomPassword() };
  try {
    return await initialise({ ...made, binaries, version: exact, account }, false);
  } catch (error) {
    await temporary.remove();
    throw error;
  }
}

/** Opens a folder's data directory, or creates it. The caller holds the folder's lock. */
export async function openCluster(
  directory: string,
  version: string | undefined,
  fetching: () => void,
): Promise<Cluster> {
  const file = await readClusterFile(directory);
  const found = file === null ? null : await dataVersion(file.home);
  if (file !== null && found !== null) {
    const exact = exactVersion(version ?? found);
    if (majorOf(exact) !== found) {
      throw new EmbeddedPostgresError(
        `Cannot start PostgreSQL ${majorOf(exact)} in ${directory}: its data is PostgreSQL ${found}'s. ` +
          "Use that version, or another directory",
      );
    }
    const owner = await ownerOf(`${file.home}/data`);
    const account = Deno.uid() === 0 ? owner : null;
    const binaries = await ensureBinaries(exact, fetching);
    return { ...file, data: `${file.home}/data`, binaries, version: exact, account, temporary: null };
  }
  const exact = exactVersion(version ?? DEFAULT_VERSION);
  const binaries = await ensureBinaries(exact, fetching);
  const account = await serverAccount();
  const home = await permanentHome(account, directory);
  const made = { home, password: file?.password ?? randomPassword() };
  const cluster = await initialise({ ...made, binaries, version: exact, account, temporary: null }, true);
  await writeClusterFile(directory, made);
  return cluster;
}

/**
 * The folder itself if the server's user can enter it; for root's private folders, a folder outside of all home
 * directories.
 */
async function permanentHome(account: Account | null, directory: string): Promise<string> {
  if (await canEnter(account, directory)) {
    const home = `${directory}/postgres`;
    await Deno.remove(home, { recursive: true }).catch(() => {});
    await Deno.mkdir(home, { mode: 0o700 });
    await giveTo(account, home);
    return home;
  }
  await Deno.mkdir("/var/lib/millrace", { recursive: true, mode: 0o755 });
  const home = await Deno.makeTempDir({ dir: "/var/lib/millrace", prefix: "postgres-" });
  await giveTo(account, home);
  if (await canEnter(account, home)) return home;
  await Deno.remove(home);
  throw new EmbeddedPostgresError("The database's user can't enter /var/lib/millrace");
}

type Uninitialised = Omit<Cluster, "data">;

async function initialise(cluster: Uninitialised, durable: boolean): Promise<Cluster> {
  const { home, binaries, account, password, version } = cluster;
  const data = `${home}/data`;
  const aside = `${home}/data.new`;
  const passwordFile = `${home}/password`;
  await Deno.writeTextFile(passwordFile, password, { mode: 0o600 });
  await giveTo(account, passwordFile);
  const { success, stdout, stderr } = await commandAs(account, `${binaries}/bin/initdb`, [
    `--pgdata=${aside}`,
    "--username=postgres",
    `--pwfile=${passwordFile}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--no-locale",
    "--no-instructions",
    ...(durable ? [] : ["--no-sync"]),
    // A high iteration count protects guessable passwords, and costs a third of the time to connect. A permanent
    // cluster may get roles with such passwords.
    ...(durable || parseInt(version) < 16 ? [] : ["--set=scram_iterations=1"]),
  ], { stdout: "piped", stderr: "piped" }).output().catch((error: Error) => {
    throw new EmbeddedPostgresError(`Cannot run ${binaries}/bin/initdb: ${error.message}`, { cause: error });
  });
  await Deno.remove(passwordFile);
  if (!success) {
    const said = new TextDecoder().decode(stderr).trim() || new TextDecoder().decode(stdout).trim();
    throw new EmbeddedPostgresError(`Cannot make a data directory in ${home}: ${said}`);
  }
  // All or nothing: a process killed in between leaves no partial data directory.
  await Deno.rename(aside, data);
  return { ...cluster, data };
}

async function dataVersion(home: string): Promise<string | null> {
  const text = await Deno.readTextFile(`${home}/data/PG_VERSION`).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return null;
    throw new EmbeddedPostgresError(
      `Cannot read the PostgreSQL data in ${home}: ${
        (error as Error).message
      }. Another user may have made it`,
      { cause: error },
    );
  });
  return text?.trim() ?? null;
}

async function readClusterFile(directory: string): Promise<ClusterFile | null> {
  const path = `${directory}/cluster.json`;
  try {
    return JSON.parse(await Deno.readTextFile(path)) as ClusterFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw new EmbeddedPostgresError(`Cannot read ${path}: ${(error as Error).message}`, { cause: error });
  }
}

async function writeClusterFile(directory: string, file: ClusterFile): Promise<void> {
  const aside = `${directory}/cluster.json.new`;
  await Deno.writeTextFile(aside, JSON.stringify(file), { mode: 0o600 });
  await Deno.rename(aside, `${directory}/cluster.json`);
}

function randomPassword(): string {
  return crypto.randomUUID().replaceAll("-", "");
}
