import { html } from 'hono/html';
import type { Html } from './document.ts';

/** The label of each column, for example an hour. */
interface Columns {
  readonly name: string;
  readonly labels: readonly string[];
}

/**
 * Numbers by their name, one for each column; null: there is none. At most three names; they lie on
 * top of each other.
 */
export type Series = Readonly<Record<string, readonly (number | null)[]>>;

const width = 300;
const height = 112;
const left = 30;
const bottom = 16;
const top = 6;
const plotHeight = height - bottom - top;

/**
 * A chart as a picture with a title, and the same numbers as a table. @param unit of the numbers,
 * for example `seconds`
 */
export function chart(
  title: string,
  unit: string,
  { name: column, labels }: Columns,
  series: Series,
): Html {
  const names = Object.keys(series);
  const values = Object.values(series);
  const most = niceMost(
    Math.max(1, ...labels.map((_, at) => values.reduce((sum, of) => sum + (of[at] ?? 0), 0))),
  );
  const y = (value: number): number => round(top + plotHeight * (1 - value / most));
  const step = (width - left) / labels.length;
  const last = names.map((name) => `${name}: ${series[name]?.at(-1) ?? 'none'} in the last column`);
  return html`<figure class="chart"><figcaption><strong>${title}</strong> ${unit}
${names.length === 1 ? null : names.map((name, at) => html`<span class="key series-${at}">${name}</span> `)}</figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title} (${unit}). ${last.join('; ')}.">
${[0, most / 2, most].map((value) => html`<line class="axis" x1="${left}" x2="${width}" y1="${y(value)}" y2="${y(value)}"/><text x="${left - 4}" y="${y(value) + 3}" text-anchor="end">${value < 10_000 ? value : `${value / 1000}k`}</text>`)}
${labels.map((_, at) => bars(values, at, step, y))}
<text x="${left}" y="${height - 3}">${labels[0]}</text>
<text x="${width}" y="${height - 3}" text-anchor="end">${labels.at(-1)}</text>
</svg>
<details><summary>As a table</summary><table class="plain"><caption>${title} (${unit})</caption>
<thead><tr>${[column, ...names].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${labels.map(
    (
      label,
      at,
    ) => html`<tr><th scope="row">${label}</th>${values.map((of) => html`<td>${of[at] ?? '-'}</td>`)}</tr>
`,
  )}</tbody></table></details></figure>`;
}

/** The bars of one column, on top of each other; a small number is seen, too. */
function bars(
  values: readonly Series[string][],
  at: number,
  step: number,
  y: (value: number) => number,
) {
  let below = 0;
  return values.map((of, index) => {
    const from = y(below);
    const value = of[at] ?? 0;
    below += value;
    if (value === 0) return null;
    const high = Math.max(1, round(from - y(below)));
    return html`<rect class="series-${index}" x="${round(left + (at + 0.12) * step)}" y="${round(from - high)}" width="${round(step * 0.76)}" height="${high}" rx="1"/>`;
  });
}

export const round = (value: number): number => Math.round(value * 10) / 10;

/** The next of 1, 2, 5, 10, 20, 50 and so on. */
function niceMost(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((nice) => nice >= value) ?? value;
}
