import { stepsOf } from '../support/steps.ts';
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { measuredOutbox, samplesOf } from '../support/measured-outbox.ts';
import { close, fulfilled, line } from '../support/outbox.ts';

const page = resolve(import.meta.dirname, '../../docs/metrics.md');
const marked = /<!-- metrics -->\n[\s\S]*<!-- \/metrics -->/;

/** The labels of the samples of a metric. */
function labelsOf(name: string, text: string): string {
  const names = [name, `${name}_count`];
  const sample = [...samplesOf(text).keys()].find((key) => names.includes(key.split('{')[0] ?? ''));
  const labels = [...(sample ?? '').matchAll(/[{,](\w+)="/g)].map(([, label]) => `\`${label}\``);
  return labels.filter((label) => label !== '`le`').join(', ');
}

it('docs/metrics.md has every metric of the worker, and no other', async () => {
  const { metrics, outbox } = await measuredOutbox();
  // Amounts have a currency once there are some.
  await outbox.accept([line()]);
  await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), fulfilled));
  const text = await metrics.text();
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].map(([, name, type]) => [name, type]),
  );
  const own = [...text.matchAll(/^# HELP (order_sync_\S+) (.*)$/gm)];
  const typeAndLabels = (name: string): string =>
    [types.get(name), labelsOf(name, text)].filter((part) => part !== '').join('; ');
  const rows = own
    .map(([, name = '', help = '']) => `- \`${name}\` (${typeAndLabels(name)}): ${help}`)
    .toSorted();
  const expected = `<!-- metrics -->\n${rows.join('\n')}\n<!-- /metrics -->`;
  const read = readFileSync(page, 'utf8');
  if (process.env['UPDATE_DOCS'] === '1')
    writeFileSync(
      page,
      read.replace(marked, () => expected),
    );
  expect(marked.exec(readFileSync(page, 'utf8'))?.[0]).toBe(expected);
});
