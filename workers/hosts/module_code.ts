import { fileURLToPath } from "node:url";

/** What must be readable for a module to be imported. */
export interface ModuleCode {
  /** The local files and package folders of its graph. */
  readonly paths: readonly string[];
  /** The remote hosts of its graph. */
  readonly hosts: readonly string[];
  /** Whether packages of npm are in its graph. */
  readonly hasPackages: boolean;
}

/** No code at all. */
export const NO_CODE: ModuleCode = { paths: [], hosts: [], hasPackages: false };

/** How many modules' code is remembered: callers may name ever new ones. */
const REMEMBERED_MAX = 500;
/** How long a look may take, in ms: a module may be on a server that does not answer. */
const LOOK_MS_MAX = 30_000;
/** How long a specifier may be that is looked at, in UTF-16 code units: the system bounds an argument. */
const SPECIFIER_LENGTH_MAX = 100_000;

interface InfoJson {
  readonly modules?: readonly { readonly specifier: string; readonly local?: string }[];
  readonly npmPackages?: Readonly<Record<string, { readonly localPath?: string }>>;
}

/**
 * Finds the code of modules with `deno info`, once each, and has their packages at hand. What a module imports under a
 * computed name is not found. Looks read and load whatever a module imports, so it must be one that this process trusts.
 */
export class ModuleCodeFinder {
  #config: string | null;
  #found = new Map<string, Promise<ModuleCode>>();
  #last: Promise<unknown> = Promise.resolve();

  /** Resolves imports by this configuration file; null for none. */
  constructor(config: string | null) {
    this.#config = config;
  }

  /** The code of all these modules together. Faulty modules yield what could be found: loading them tells what is wrong. */
  async find(modules: Iterable<string>): Promise<ModuleCode> {
    const paths = new Set<string>();
    const hosts = new Set<string>();
    let hasPackages = false;
    for (const code of await Promise.all([...modules].map((module) => this.#findOne(module)))) {
      for (const path of code.paths) paths.add(path);
      for (const host of code.hosts) hosts.add(host);
      hasPackages ||= code.hasPackages;
    }
    return { paths: [...paths], hosts: [...hosts], hasPackages };
  }

  #findOne(module: string): Promise<ModuleCode> {
    let found = this.#found.get(module);
    if (found === undefined) {
      // One at a time: a composition may have many modules, and each look is a process.
      found = this.#last.then(() => this.#ask(module));
      this.#last = found.catch(() => {});
      this.#found.set(module, found);
      if (this.#found.size > REMEMBERED_MAX) this.#found.delete(this.#found.keys().next().value!);
    }
    return found;
  }

  async #ask(module: string): Promise<ModuleCode> {
    const paths: string[] = module.startsWith("file:") ? [fileURLToPath(module)] : [];
    const hosts: string[] = [];
    if (module.length > SPECIFIER_LENGTH_MAX) return NO_CODE;
    const told = await this.#deno("info", "--json", module);
    if (told === null) return { ...NO_CODE, paths };
    const info = JSON.parse(told) as InfoJson;
    for (const { specifier } of info.modules ?? []) {
      if (specifier.startsWith("file:")) paths.push(fileURLToPath(specifier));
      else if (/^https?:/.test(specifier)) hosts.push(hostOf(specifier));
    }
    // The packages that are listed are those of the lock file.
    const hasPackages =
      info.modules?.some(({ specifier }) => /^npm:|\/node_modules\//.test(specifier)) === true;
    if (hasPackages) {
      for (const { localPath } of Object.values(info.npmPackages ?? {})) {
        if (localPath !== undefined) paths.push(localPath);
      }
      if (this.#config !== null) paths.push(besideConfig(this.#config, "node_modules"));
      // Its processes load nothing over the network.
      await this.#deno("cache", module);
    }
    return { paths, hosts, hasPackages };
  }

  /** What Deno prints; null when it fails. */
  async #deno(command: string, ...args: string[]): Promise<string | null> {
    const { success, stdout } = await new Deno.Command(Deno.execPath(), {
      args: [command, ...(this.#config === null ? ["--no-config"] : ["--config", this.#config]), ...args],
      stdin: "null",
      stdout: "piped",
      stderr: "null",
      signal: AbortSignal.timeout(LOOK_MS_MAX),
    }).output();
    return success ? new TextDecoder().decode(stdout) : null;
  }
}

function hostOf(specifier: string): string {
  const { protocol, hostname, port } = new URL(specifier);
  return `${hostname}:${port || (protocol === "https:" ? "443" : "80")}`;
}

function besideConfig(config: string, name: string): string {
  return config.replace(/[^/\\]*$/, name);
}
