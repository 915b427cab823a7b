import { fileURLToPath } from "node:url";

/** What must be readable for a module to be imported. */
export interface ModuleCode {
  /** The local files and package folders of its graph. */
  readonly paths: readonly string[];
  /** The remote hosts of its graph. */
  readonly hosts: readonly string[];
}

interface InfoJson {
  readonly modules?: readonly { readonly specifier: string; readonly local?: string }[];
  readonly npmPackages?: Readonly<Record<string, { readonly localPath?: string }>>;
}

/** Finds the code of modules with `deno info`, once each. What a module imports under a computed name is not found. */
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
    for (const code of await Promise.all([...modules].map((module) => this.#findOne(module)))) {
      for (const path of code.paths) paths.add(path);
      for (const host of code.hosts) hosts.add(host);
    }
    return { paths: [...paths], hosts: [...hosts] };
  }

  #findOne(module: string): Promise<ModuleCode> {
    let found = this.#found.get(module);
    if (found === undefined) {
      // One at a time: a composition may have many modules, and each look is a process.
      found = this.#last.then(() => this.#ask(module));
      this.#last = found.catch(() => {});
      this.#found.set(module, found);
    }
    return found;
  }

  async #ask(module: string): Promise<ModuleCode> {
    const config = this.#config === null ? ["--no-config"] : ["--config", this.#config];
    const { success, stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["info", "--json", ...config, module],
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).output();
    const paths: string[] = module.startsWith("file:") ? [fileURLToPath(module)] : [];
    const hosts: string[] = [];
    if (!success) return { paths, hosts };
    const info = JSON.parse(new TextDecoder().decode(stdout)) as InfoJson;
    for (const { specifier } of info.modules ?? []) {
      if (specifier.startsWith("file:")) paths.push(fileURLToPath(specifier));
      else if (/^https?:/.test(specifier)) hosts.push(hostOf(specifier));
    }
    const packages = Object.values(info.npmPackages ?? {});
    for (const { localPath } of packages) if (localPath !== undefined) paths.push(localPath);
    if (packages.length > 0 && this.#config !== null) paths.push(besideConfig(this.#config, "node_modules"));
    return { paths, hosts };
  }
}

function hostOf(specifier: string): string {
  const { protocol, hostname, port } = new URL(specifier);
  return `${hostname}:${port || (protocol === "https:" ? "443" : "80")}`;
}

function besideConfig(config: string, name: string): string {
  return config.replace(/[^/\\]*$/, name);
}
