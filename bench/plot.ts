import { median, readable } from "./figures.ts";
import type { Result } from "./result.ts";

const WIDTH = 760;
const LABEL_WIDTH = 270;
const BAR_WIDTH = 370;
const ROW_HEIGHT = 22;
const HEAD_HEIGHT = 44;

/** Horizontal bars, one a figure, with the range of the rounds as a line across the end of each. */
export function toSvg(result: Result): string {
  const most = Math.max(Number.MIN_VALUE, ...result.figures.flatMap((figure) => figure.values));
  const height = HEAD_HEIGHT + result.figures.length * ROW_HEIGHT + 12;
  const at = (value: number): number => Math.round(LABEL_WIDTH + BAR_WIDTH * value / most);
  const rows = result.figures.map(({ contestant, measure, unit, values }, index) => {
    const top = HEAD_HEIGHT + index * ROW_HEIGHT;
    const middle = median(values);
    const [from, to] = [at(Math.min(...values)), at(Math.max(...values))];
    const fill = contestant.startsWith("Millrace") ? "#0b6e8f" : "#9aa7ad";
    const label = escape(measure === "" ? contestant : `${contestant}, ${measure}`);
    return [
      `<text x="${LABEL_WIDTH - 8}" y="${top + 14}" text-anchor="end">${label}</text>`,
      `<rect x="${LABEL_WIDTH}" y="${top + 3}" width="${
        at(middle) - LABEL_WIDTH
      }" height="14" fill="${fill}"/>`,
      `<path d="M${from} ${top + 10}H${to}" stroke="#222" stroke-width="1.5"/>`,
      `<text x="${Math.max(to, at(middle)) + 6}" y="${top + 14}">${readable(middle)} ${escape(unit)}</text>`,
    ].join("\n");
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="12" y="18" font-size="14" font-weight="bold">${escape(result.title)}</text>`,
    `<text x="12" y="34" fill="#555">${escape(result.conditions)}; ${result.better} is better</text>`,
    ...rows,
    "</svg>",
    "",
  ].join("\n");
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
