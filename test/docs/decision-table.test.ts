import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { decisionTable, type Cell, type Column } from '../../src/core/decision/decision-table.ts';
import { outcomeRows, type OutcomeRow } from '../../src/core/answers/outcome.ts';
import { schedules } from '../../src/core/decision/retry-schedule.ts';
import { wholesaleErrors } from '../../src/core/decision/wholesale-errors.ts';

const page = resolve(import.meta.dirname, '../../docs/decision-table.md');
const columns: readonly Column[] = ['clean', 'outcomeUnknown', 'cancelClean', 'cancelOutcomeUnknown'];

const meanings: Record<OutcomeRow, string> = {
  accepted: '2xx: a complete JSON object without `error` in which an order is recognised; what it repeats is ours',
  answer_mismatch: '2xx, but it repeats another reference or product, or a larger quantity',
  unreadable_success: '2xx that is empty, HTML, cut off, no JSON object, or in which no order is recognised',
  redirect: '3xx; never followed',
  invalid_key: '401',
  account_not_allowed: '403',
  ip_not_allowed: '403',
  not_found: '404 for an ICCID or a destination',
  not_found_unexpected: '404 on a gift card order, where the spec gives it no meaning',
  insufficient_balance: '402',
  reference_in_use: '409',
  currency_unavailable: '422',
  invalid_request: '422',
  order_refused: '422',
  rate_limited: '429, with or without a body',
  api_disabled: '503',
  invalid_variant: '404',
  out_of_stock: '409',
  limit_exceeded: '422',
  not_api_sellable: '422',
  plan_unknown: '404 `invalid_plan`',
  plan_unorderable: '422 `invalid_plan`',
  topup_not_allowed: '422',
  not_cancellable: '409',
  unlisted_code: '4xx with the error body and a code that Spec 7 does not list',
  code_out_of_place: 'a listed code with another status or in the other family',
  foreign_refusal: '4xx without the error body: a proxy or a firewall',
  server_error: '5xx with the error body and another code',
  foreign_server_error: '5xx without the error body',
  foreign_unavailable: '503 without the error body',
  unreachable: 'no byte left: DNS, refused, no route, connect timeout',
  tls_refused: 'no byte left: certificate or version',
  proxy_refused: 'no byte left: the proxy would not connect',
  local_resource: 'no byte left: files, memory, ports',
  local_defect: 'no byte left: our own mistake',
  dropped: 'sent, then the connection ended',
  headers_timeout: 'sent, and no answer began in time',
  cut_answer: 'the answer ended early or was not HTTP',
  deadline: 'our own deadline; the connection was reset first',
  shutdown: 'the worker stopped while the call was open',
  crashed: 'the call was open when the worker died',
};

function cellText(cell: Cell): string {
  const pause = cell.pause === undefined ? '' : `, ${cell.pause} paused`;
  return `${cell.verdict}${cell.schedule === undefined ? '' : ` (${cell.schedule})`}${pause}`;
}

function render(): string {
  const rows = outcomeRows.map(
    (row) =>
      `| \`${row}\` | ${meanings[row]} | ${columns.map((column) => cellText(decisionTable[row][column])).join(' | ')} |`,
  );
  const delays = Object.entries(schedules).map(
    ([name, { stepsMs, spread }]) =>
      `| ${name} | ${stepsMs.map((ms) => `${ms / 1000} s`).join(', ')} | ±${spread * 100} % |`,
  );
  return `# What each outcome does

Generated from \`src/core/decision/decision-table.ts\`, which is what the worker runs on: \`UPDATE_DOCS=1 npx vitest run test/docs\`.

"Clean": the outcome of every earlier attempt of the entry is known. "Outcome unknown": an earlier attempt may have been
processed, so no rejection proves anything.

| verdict | means |
|---|---|
| settle | the answer is believed: fulfilled, refunded, or placed, by the units that are there |
| reject | a definite rejection, final; above the per-order limit the order is split, if it allows that |
| wait | a definite rejection that may change with time; nothing was charged |
| again | surely not processed: back to where it was, and the attempt does not count |
| unknown | perhaps processed: looked up, then the same reference again |
| resolve | a rejection that an earlier attempt may have caused: only a lookup after the settlement delay settles it |
| review | a person decides |

| outcome | what came | purchase, clean | purchase, outcome unknown | cancel, clean | cancel, outcome unknown |
|---|---|---|---|---|---|
${rows.join('\n')}

## When an entry with an unknown outcome is to be sent again

The worker checks this in the claim that would send the entry, and again when a lookup answers
(\`src/core/decision/resend.ts\`, \`src/core/decision/decide-lookup.ts\`). "Believed": the settlement delay is over, and a
lookup of this kind has found an order before.

| | lookups | no lookups |
|---|---|---|
| in time, not found | the same reference again | the same reference again |
| after \`not_after\`, not found, believed | \`expired\`: nothing was bought | review: the same reference could buy it late |
| after \`not_after\`, not found, before the end of the settlement delay | looked up again at its end | review |
| after \`not_after\`, not found, no lookup ever found an order | review | review |
| after \`not_after\`, found | as the answer says, however late | |
| after \`not_after\`, a cancel, not shown as cancelled | review: an order need not show what became of its eSIM | review |
| past the reference expiry | looked up once more; review unless found | review |
| after \`not_after\`, a rejection that is believed | final: not split, not from another balance, no waiting | review |

## When a lookup finds nothing

An absence that would end an entry, or send it after a loss, is believed after the end of the settlement delay, when three
lookups in a row say it (5 s and 15 s apart; a failed lookup between them counts neither way). Anything that is found starts
the count again.

| | after one absence | after three |
|---|---|---|
| outcome unknown, nothing rejected, in time | the same reference again | |
| outcome unknown, with a rejection that is not believed yet | looked up again | the rejection is believed |
| outcome unknown, after \`not_after\` | looked up again | \`expired\` |
| accepted (\`placed\`) | looked up again | review: the API accepted the order, but a lookup does not find it |
| a cancel with an unknown outcome: the order of its eSIM | looked up again | review |
| after a loss: its first replacement | looked up again | its own reference is sent, or looked up where that would end it; or review |
| after a loss: an order of gift cards with \`split\` that was rejected, waits or is overdue | looked up again | review: parts of it may be bought |
| after a loss, a cancel: the order of its eSIM | the cancel is sent | |
| past the reference expiry | review | |

| delays | steps; the last repeats | spread |
|---|---|---|
${delays.join('\n')}
`;
}

it('the page of the decision table shows the table that the worker runs on', () => {
  const text = render();
  if (process.env['UPDATE_DOCS']) writeFileSync(page, text);
  expect(readFileSync(page, 'utf8')).toBe(text);
});

it('every code of Spec 7 has a row of its own', () => {
  const rows = new Set<string>(outcomeRows);
  const named = (code: string): boolean => rows.has(code) || (code === 'invalid_plan' && rows.has('plan_unknown'));
  expect(wholesaleErrors.filter((row) => row.code !== null && !named(row.code))).toEqual([]);
});
