const root = decodeURIComponent(new URL("../..", import.meta.url).pathname);

/** What the harness is made of. The peers' installed libraries and the results are not part of it. */
const HARNESS = ["bench", "programs/heap_flag.ts"];

/** Another revision of this repository in a folder of its own, measured by the harness of this one. */
export class Revision implements AsyncDisposable {
  /** The folder, without a slash at its end. */
  readonly folder: string;
  /** The commit, as `git describe` shortens it. */
  readonly name: string;

  private constructor(folder: string, name: string) {
    this.folder = folder;
    this.name = name;
  }

  /**
   * Takes a revision out of the repository.
   *
   * @throws {TypeError} git knows no such revision.
   */
  static async checkOut(revision: string): Promise<Revision> {
    const name = await git(["rev-parse", "--short", "--verify", "--quiet", `${revision}^{commit}`]).catch(
      () => {
        throw new TypeError(`--against: "${revision}" was given, expected a revision that git knows here`);
      },
    );
    const folder = await Deno.makeTempDir({ prefix: "millrace_revision_" });
    const made = new Revision(folder, name.trim());
    try {
      await git(["--work-tree", folder, "restore", "--source", made.name, "--worktree", "--", ":/"]);
      await made.#bringHarness();
      return made;
    } catch (error) {
      await made[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Deletes the folder. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder, { recursive: true });
  }

  /** Both sides are measured by the same programs: only what these import differs. */
  async #bringHarness(): Promise<void> {
    const listed = await git([
      "ls-files",
      "-z",
      "--cached",
      "--others",
      "--exclude-standard",
      "--",
      ...HARNESS,
    ]);
    for (const path of listed.split("\0").filter((path) => path !== "")) {
      const target = `${this.folder}/${path}`;
      await Deno.mkdir(target.slice(0, target.lastIndexOf("/")), { recursive: true });
      await Deno.copyFile(root + path, target);
    }
  }
}

async function git(args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("git", { args: [...args], cwd: root }).output();
  if (!success) throw new Error(`git ${args[0]}: ${new TextDecoder().decode(stderr).trim()}`);
  return new TextDecoder().decode(stdout);
}
