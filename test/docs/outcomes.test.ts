import { expect, it } from 'vitest';
import { decisionTable, rejections, type Cell } from '../../src/buying/decision/decision-table.ts';
import { outcomeRows, type OutcomeRow } from '../../src/core/answers/outcome.ts';
import { schedules } from '../../src/buying/decision/retry-schedule.ts';
import { madeFrom, pageText } from './generated-page.ts';
import { wholesaleErrors } from '../../src/core/answers/wholesale-errors.ts';

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
  shutdown: 'the worker stopped while the call was in flight',
  crashed: 'the call was open when the worker died',
};

/** The delay of the next try is named where it is not the usual one. */
function cellText(cell: Cell, isClean: boolean): string {
  const { verdict, schedule = 'standard', pause } = cell;
  return [
    schedule === 'standard' ? verdict : `${verdict} (${schedule})`,
    ...(pause === undefined ? [] : [`${pause} paused`]),
    ...(rejections.has(verdict) && isClean ? ['confirmed'] : []),
  ].join(', ');
}

function bothText(clean: Cell, outcomeUnknown: Cell): string {
  const texts = [cellText(clean, true), cellText(outcomeUnknown, false)];
  return [...new Set(texts)].join(' / ');
}

/** What follows from an outcome, for a purchase and, where it differs, for a cancel. */
function verdictsOf(row: OutcomeRow): string {
  const { clean, outcomeUnknown, cancelClean, cancelOutcomeUnknown } = decisionTable[row];
  const purchase = bothText(clean, outcomeUnknown);
  const cancel = bothText(cancelClean, cancelOutcomeUnknown);
  return cancel === purchase ? `**${purchase}**` : `**${purchase}**; a cancel: **${cancel}**`;
}

/** Outcomes with the same verdicts stand together. */
const outcomeTexts = (): string[] =>
  [...Map.groupBy(outcomeRows, verdictsOf)].map(([verdicts, rows]) =>
    [`- ${verdicts}`, ...rows.map((row) => `  - \`${row}\`: ${meanings[row]}`)].join('\n'),
  );

const delayTexts = (): string[] =>
  Object.entries(schedules).map(
    ([name, { stepsMs, spread }]) =>
      `- ${name}: ${stepsMs.map((ms) => ms / 1000).join(', ')} s (±${spread * 100} %)`,
  );

const render = (): string => `# Outcomes

${madeFrom('src/buying/decision/decision-table.ts')} [How sending is decided](../how-sending-is-decided.md) explains the words.

- settle: the entry is fulfilled, refunded or placed, by its units
- reject: the entry is rejected; above the per-order limit it is split, if its order allows that
- wait: nothing was charged; it is tried again later
- again: certainly not processed; it is sent again, and the attempt does not count
- unknown: perhaps processed; it is looked up, then sent again under the same reference
- resolve: an earlier attempt may have caused this answer, or it is about another order; only a lookup after the in-flight window settles it
- unexplained: the code does not fit this call; an operator decides
- review: an operator decides

Of two verdicts (\`reject / resolve\`) the second applies if an earlier attempt may have been processed. \`confirmed\`: a lookup comes first, 5 s later, because a
proxy may have sent the call twice, and this may be the answer to the second copy. In brackets: the delays, if not \`standard\`.

${outcomeTexts().join('\n')}

Delays between tries; the last one repeats:

${delayTexts().join('\n')}

## When a lookup finds nothing

The steps for an entry with an unknown outcome after one absence, then after enough absences to prove it:

- nothing rejected, one attempt: sent again
- nothing rejected, two attempts or a paused scope: looked up again, then waits, then sent again
- a rejection that is not believed yet: looked up again, then rejected
- an answer about another order: looked up again, then review
- after \`not_after\`: looked up again, then \`expired\`
- a cancel (its eSIM's order is looked up): looked up again, then review
- accepted (\`placed\`): looked up again, then review
- past the reference expiry: review
- after a loss, the entry that took its place: looked up again, then the entry itself is looked up
- after a loss, several units with \`split\` or \`partial\`: looked up again, then review
- after a loss, a cancel: sent

An entry also needs review if no lookup has ever found an order and it is rejected or overdue; if it got goods of another order; if a cancel is overdue or
refused for good; and if no lookup is possible after \`not_after\` or the reference expiry.
`;

it('the page of outcomes shows the table that the worker runs on', () => {
  const text = render();
  expect(pageText('outcomes.md', text)).toBe(text);
});

it('every code of Spec 7 has a row of its own', () => {
  const rows = new Set<string>(outcomeRows);
  const named = (code: string): boolean =>
    rows.has(code) || (code === 'invalid_plan' && rows.has('plan_unknown'));
  expect(wholesaleErrors.filter((row) => row.code !== null && !named(row.code))).toEqual([]);
});
