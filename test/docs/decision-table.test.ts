import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { decisionTable, type Cell, type Column } from '../../src/buying/decision/decision-table.ts';
import { outcomeRows, type OutcomeRow } from '../../src/core/answers/outcome.ts';
import { schedules } from '../../src/buying/decision/retry-schedule.ts';
import { wholesaleErrors } from '../../src/core/answers/wholesale-errors.ts';

const page = resolve(import.meta.dirname, '../../docs/decision-table.md');
const columns: readonly Column[] = [
  'clean',
  'outcomeUnknown',
  'cancelClean',
  'cancelOutcomeUnknown',
];

const meanings: Record<OutcomeRow, string> = {
  accepted:
    '2xx: a complete JSON object without `error` in which an order is recognised; what it repeats is ours',
  answer_mismatch: '2xx, but it repeats another reference or product, or a larger quantity',
  unreadable_success:
    '2xx that is empty, HTML, cut off, no JSON object, or in which no order is recognised',
  redirect: '3xx; never followed',
  invalid_key: '401',
  account_not_allowed: '403',
  ip_not_allowed: '403',
  not_found: '404 for an ICCID or a destination',
  not_found_unexpected: '404 on a gift card order, or before its path accepted a call',
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
  const confirmed = cell.confirm === true ? ', confirmed' : '';
  return `${cell.verdict}${cell.schedule === undefined ? '' : ` (${cell.schedule})`}${pause}${confirmed}`;
}

function render(): string {
  const rows = outcomeRows.map(
    (row) =>
      `| \`${row}\` | ${meanings[row]} | ${columns.map((column) => cellText(decisionTable[row][column])).join(' | ')} |`,
  );
  const delays = Object.entries(schedules).map(
    ([name, { stepsMs, spread }]) =>
      `- ${name}: ${stepsMs.map((ms) => ms / 1000).join(', ')} s (±${spread * 100} %)`,
  );
  return `# What each outcome does

Generated from \`src/buying/decision/decision-table.ts\`: \`UPDATE_DOCS=1 npx vitest run test/docs\`.

"Clean": the outcome of every earlier attempt is known. "Unknown": one may have been processed, so no rejection proves anything.

| verdict | means |
|---|---|
| settle | the answer is believed: fulfilled, refunded, or placed, by its units |
| reject | final; above the per-order limit the order is split, if it allows that |
| wait | a rejection that may change with time; nothing was charged |
| again | certainly not processed; the attempt does not count |
| unknown | perhaps processed: looked up, then the same reference again |
| resolve | an earlier attempt may have caused the rejection, or the answer is about another order: only a lookup after the in-flight window settles it |
| review | a person decides |

"Confirmed": something in between may have sent the call twice, and this refusal may answer the second copy. Where lookups are believed, one lookup
comes first, 5 s later (for a cancel: of its eSIM's order). An order that it finds is this one; an absence confirms a purchase's refusal.

Other goods without another reference: a lookup must show the goods as ordered, else review.

Settled to a review: an order number, code or eSIM that another entry has. An undelivered other entry needs review, too.

| outcome | answer | purchase, clean | purchase, unknown | cancel, clean | cancel, unknown |
|---|---|---|---|---|---|
${rows.join('\n')}

## When an entry with an unknown outcome is to be sent again

Checked in the claim that would send it, and when a lookup answers (\`src/core/entry/resend.ts\`, \`src/buying/decision/decide-lookup.ts\`).
"Believed": the in-flight window is over, and a lookup of this kind has found an order before.

| | with lookups | without |
|---|---|---|
| in time, not found | the same reference again | the same reference again |
| after \`not_after\`, not found, believed | \`expired\` | review: the same reference could buy it late |
| the same, before the end of the in-flight window | looked up again at its end | review |
| the same, no lookup ever found an order | review | review |
| after \`not_after\`, found | as the answer says | |
| after \`not_after\`, a cancel, not shown as cancelled | review | review |
| after \`not_after\`, a rejection that is believed | final | review |
| past the reference expiry | looked up once more; review unless found | review |

## When a lookup finds nothing

An absence that would end an entry, or send it after a loss, is believed after the in-flight window, when three lookups in a row say it (5 s and 15 s apart; a failed
lookup, or one that a cache answered, does not count). A find starts the count again.

| | after one absence | after three |
|---|---|---|
| unknown, nothing rejected, in time | the same reference again | |
| unknown, with a rejection that is not believed yet | looked up again | the rejection is believed |
| unknown, with an answer about another order | looked up again | review |
| unknown, after \`not_after\` | looked up again | \`expired\` |
| accepted (\`placed\`) | looked up again | review |
| a cancel: the order of its eSIM | looked up again | review |
| after a loss: its first replacement | looked up again | its own reference is sent or looked up; or review |
| after a loss: a \`split\` order that was rejected, waits or is overdue | looked up again | review: parts of it may be bought |
| after a loss, a cancel: the order of its eSIM | the cancel is sent | |
| past the reference expiry | review | |

Delays; the last step repeats:

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
  const named = (code: string): boolean =>
    rows.has(code) || (code === 'invalid_plan' && rows.has('plan_unknown'));
  expect(wholesaleErrors.filter((row) => row.code !== null && !named(row.code))).toEqual([]);
});
