import { stepsOf } from '../support/steps.ts';
import { expect, it } from 'vitest';
import { measuredOutbox, samplesOf } from '../support/measured-outbox.ts';
import { close, fulfilled, line } from '../support/outbox.ts';
import { madeFrom, pageText } from './generated-page.ts';

/** The labels of the samples of a metric. */
function labelsOf(name: string, text: string): string {
  const names = [name, `${name}_count`];
  const sample = [...samplesOf(text).keys()].find((key) => names.includes(key.split('{')[0] ?? ''));
  const labels = [...(sample ?? '').matchAll(/[{,](\w+)="/g)].map(([, label]) => `\`${label}\``);
  return labels.filter((label) => label !== '`le`').join(', ');
}

it('the page of metrics has every metric of the worker, and no other', async () => {
  const { metrics, outbox } = await measuredOutbox();
  // Amounts have a currency once there are some.
  await outbox.accept([line()]);
  await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), fulfilled));
  const balance = { currency: 'USD', millionths: 9, actor: 'ann', reason: 'it is', nowMs: 1 };
  await outbox.store.operator.setBalance(balance);
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
  const page = `# Metrics

${madeFrom('src/admin/metrics/')} The worker answers \`GET /metrics\` at \`admin.listen\` without a token.

${rows.join('\n')}

Node's usual metrics (\`process_*\`, \`nodejs_*\`) follow from the first scrape on. Counters begin with zero at each start. No reference, order id, product,
code or key value is shown; unknown label values are \`other\`. \`outcome\` is an [outcome](outcomes.md), \`code\` a code of the specification.

\`deploy/prometheus/\` has alert rules ([runbook](../runbook.md)) and a scrape example, \`deploy/grafana/\` a dashboard.
`;
  expect(pageText('metrics.md', page)).toBe(page);
});
