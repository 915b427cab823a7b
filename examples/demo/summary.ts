import type { WebhookResult } from "./webhook_side.ts";

/** What the demo tells at its end. */
export interface DemoResult {
  /** How many files there were. */
  readonly files: number;
  /** Their size together. */
  readonly bytes: number;
  /** Their lines together. */
  readonly lines: number;
  /** From the first row to the last completion, in ms. */
  readonly ms: number;
  /** Attempts of all jobs together. */
  readonly attempts: number;
  /** Jobs that did not complete. */
  readonly failures: number;
  /** Some of them, with the reason. */
  readonly failed: readonly { readonly path: string; readonly reason: string }[];
  /** How many files each thread described. */
  readonly threads: ReadonlyMap<string, number>;
  /** What became of their webhooks. */
  readonly webhooks: WebhookResult;
  /** How many files the commonest extensions have, by the events that were recorded. */
  readonly extensions: readonly { readonly extension: string; readonly files: number }[];
}

/** The table that ends the demo, and below it what failed. */
export function summaryTable(result: DemoResult): string {
  const seconds = result.ms / 1000;
  const rows: [string, string][] = [
    ["files", number(result.files)],
    ["bytes", number(result.bytes)],
    ["lines", number(result.lines)],
    ["seconds", seconds.toFixed(1)],
    ["jobs/s", number(Math.round(result.files / Math.max(seconds, 0.001)))],
    ["attempts", number(result.attempts)],
    ["retries", number(Math.max(0, result.attempts - result.files))],
    ["failures", number(result.failures)],
    ["webhooks", number(result.webhooks.delivered)],
    ...(result.webhooks.verified === null
      ? []
      : [["verified", number(result.webhooks.verified)] satisfies [string, string]]),
    ...(result.webhooks.others === 0
      ? []
      : [["not delivered", number(result.webhooks.others)] satisfies [string, string]]),
    ...[...result.threads].map(([thread, files]): [string, string] => [`thread ${thread}`, number(files)]),
    ...result.extensions.map(({ extension, files }): [string, string] => [
      // It may hold whatever moves a terminal's cursor.
      `events ${JSON.stringify(extension).slice(1, -1)}`,
      number(files),
    ]),
  ];
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map(([name, value]) => `  ${name.padEnd(widths[0]!)}  ${value.padStart(widths[1]!)}\n`);
  return lines.join("") + failedFiles(result);
}

function failedFiles({ failures, failed }: DemoResult): string {
  if (failures === 0) return "";
  // As JSON, for a name may hold whatever moves a terminal's cursor.
  const lines = failed.map(({ path, reason }) => `  ${JSON.stringify(path)}: ${reason}\n`);
  const more = failures - failed.length;
  return `\nNot described:\n${lines.join("")}${more > 0 ? `  and ${number(more)} more\n` : ""}`;
}

function number(value: number): string {
  return value.toLocaleString("en-US");
}
