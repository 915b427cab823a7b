/** Folders whose files change while one looks, or are nobody's work. */
export const SKIPPED: readonly string[] = [".git", ".millrace"];

/** Every regular file under a folder, sorted by path; links are not followed, what can't be read is left out. */
export async function filesUnder(directory: string): Promise<string[]> {
  const found: string[] = [];
  const walk = async (folder: string): Promise<void> => {
    try {
      for await (const entry of Deno.readDir(folder)) {
        const path = `${folder === "/" ? "" : folder}/${entry.name}`;
        if (entry.isFile) found.push(path);
        else if (entry.isDirectory && !SKIPPED.includes(entry.name)) await walk(path);
      }
    } catch (error) {
      if (!(error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.NotFound)) {
        throw error;
      }
    }
  };
  await walk(directory);
  return found.sort();
}
