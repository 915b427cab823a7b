import { median, readable } from "./figures.ts";
import { figureOf, isMet, type Result } from "./result.ts";

/** The result as a table for a terminal. */
export function toText(result: Result): string {
  const rows = result.figures.map(({ contestant, measure, unit, values }) => {
    const middle = median(values);
    const reference = result.reference === null ? NaN : figureOf(result.figures, result.reference, measure);
    return [
      contestant,
      measure,
      `${readable(middle)} ${unit}`,
      `[${readable(Math.min(...values))} to ${readable(Math.max(...values))}]`,
      isNaN(reference) ? "" : `${(middle / reference).toFixed(2)} of ${result.reference}`,
    ];
  });
  const targets = result.targets.map((target) => {
    const met = isMet(target);
    const bound = target.atLeast === undefined ? `at most ${target.atMost}` : `at least ${target.atLeast}`;
    const said = met === null ? "not measured" : met ? "met" : "MISSED";
    return `  ${said.padEnd(12)} ${target.what}: ${readable(target.reached)}, ${bound}`;
  });
  return [
    `${result.scenario}: ${result.title} (${result.conditions})`,
    ...align(rows).map((line) => `  ${line}`),
    ...result.skipped.map((line) => `  skipped: ${line}`),
    ...targets,
    "",
  ].join("\n");
}

/** The result as a table for a page. */
export function toMarkdown(result: Result): string {
  const lines = result.figures.map(({ contestant, measure, unit, values }) => {
    const middle = median(values);
    const reference = result.reference === null ? NaN : figureOf(result.figures, result.reference, measure);
    const range = `${readable(Math.min(...values))} to ${readable(Math.max(...values))}`;
    const ratio = isNaN(reference) ? "" : (middle / reference).toFixed(2);
    return `| ${contestant} | ${measure} | ${readable(middle)} ${unit} | ${range} | ${ratio} |`;
  });
  return [
    `**${result.title}** (${result.conditions})`,
    "",
    `| | | median | range | of ${result.reference ?? ""} |`,
    "| --- | --- | --- | --- | --- |",
    ...lines,
    "",
  ].join("\n");
}

function align(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]!.length))) ?? [];
  return rows.map((row) =>
    row.map((cell, column) =>
      column === 2 || column === 3 ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)
    ).join("  ").trimEnd()
  );
}
