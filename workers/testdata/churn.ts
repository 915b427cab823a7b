/** Runs the churn program in a process of its own; returns its resident memory in MiB, first after the short jobs. */
export async function churn(shortJobs: number, endingJobs: number, samples: number): Promise<number[]> {
  const program = new URL("./churn_program.ts", import.meta.url);
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", program.href, String(shortJobs), String(endingJobs), String(samples)],
  }).output();
  const text = new TextDecoder().decode(stdout);
  if (text === "") throw new Error(`the churn program printed nothing: ${new TextDecoder().decode(stderr)}`);
  return JSON.parse(text);
}
