import { html } from 'hono/html';
import { mostInRun, type BulkAction, type BulkFilter } from '../../core/operator/operator-command.ts';
import type { BulkResult } from '../../store/operator/entry-command.ts';
import type { OrderDetail } from '../../store/read/order-detail.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';
import type { BulkPreview } from '../bulk-run.ts';
import type { FormContext } from '../pages/page-sources.ts';
import { type Html, table } from '../html/document.ts';
import { orderLink } from '../pages/text.ts';
import { openForm } from '../pages/action-forms.ts';
import type { AcknowledgeFilter } from './read-form.ts';

/** How many entries of each state a preview names, and how many rows of the attention list it counts. */
const shown = 20;
const mostCounted = 10_000;
const titles = { retry: 'Retry', hold: 'Hold', release: 'Release', cancel: 'Cancel' } as const;

/** The entries that a bulk command would change, with the form that confirms it. */
export function bulkPreview(
  { order, which }: { readonly order: BulkAction; readonly which: BulkFilter },
  { found, matched, references }: BulkPreview,
  context: FormContext,
): Html {
  const back = html`<p><a href="${context.returnTo}">Back, without doing it</a></p>`;
  if (matched === 0) return html`<p>No entry fits any more.</p>${back}`;
  const { state = '', source = '', code = '', untilMs } = which;
  const fields = { action: 'bulk', order, state, source, code, seen_ms: String(untilMs), confirmed: 'yes' };
  const count = Math.min(matched, mostInRun);
  return html`<p>${matched} entries fit: ${found.map((of, index) => `${index === 0 ? '' : ', '}${of.count} ${of.state}`)}.</p>
${matched > mostInRun ? html`<p class="warning">One run takes ${mostInRun} of them. Repeat it for the others.</p>` : null}
<details><summary>The first of them</summary><ul>${references.slice(0, shown).map((reference) => html`<li class="code">${reference}</li>`)}</ul></details>
${openForm(
  {
    title: `${titles[order]} ${count} entries`,
    what: 'Each of them is judged again when it is its turn, and has its own row in the audit log.',
    fields,
  },
  context,
)}
${back}`;
}

/** The outcome of a bulk command. */
export function bulkReport(
  order: BulkAction,
  matched: number,
  { changed, refused }: BulkResult,
  returnTo: string,
): Html {
  const left = matched - changed.length - refused.length;
  return html`<p class="good">${titles[order]}: ${changed.length} of ${matched} entries are done.</p>
${left > 0 ? html`<p class="warning">${left} are left: repeat it for them.</p>` : null}
${
  refused.length === 0
    ? null
    : html`<p class="warning">${refused.length} were refused and are as they were.</p>${table(
        'Refused',
        ['Entry', 'Why', 'What to do'],
        refused.map(({ reference, message, hint }) => [reference, message, hint]),
      )}`
}
<p><a href="${returnTo}">Back</a></p>`;
}

/** How many rows of the attention list would leave it, with the form that confirms it. */
export function acknowledgePreview(
  { code, source, beforeMs }: AcknowledgeFilter,
  read: Pick<OutboxReader, 'attentionCounts'>,
  context: FormContext,
): Html {
  const filter = { code, source, beforeMs };
  const counts = Object.entries(read.attentionCounts({ ...filter, canAcknowledge: true }, mostCounted));
  const others = Object.values(read.attentionCounts({ ...filter, canAcknowledge: false }, mostCounted));
  const back = html`<p><a href="${context.returnTo}">Back, without doing it</a></p>`;
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return html`<p>No row of this list can be acknowledged: each needs a decision.</p>${back}`;
  const fields = {
    action: 'acknowledge',
    code: code ?? '',
    source: source ?? '',
    seen_ms: String(beforeMs),
    confirmed: 'yes',
  };
  const kept = others.reduce((sum, count) => sum + count, 0);
  return html`<p>${total} rows would leave the list: ${counts.map(([kind, count], index) => `${index === 0 ? '' : ', '}${count} ${kind}`)}.</p>
${kept > 0 ? html`<p>${kept} more need a decision and stay.</p>` : null}
${openForm({ title: `Acknowledge ${total} rows`, what: 'Nothing is bought, sent or cancelled by that.', fields }, context)}
${back}`;
}

const customerAdvice =
  "If a customer says that a code does not work: compare the code, its PIN and its expiry with this page. If they are the same, tell the supplier the number of the supplier's order. If not, the shop showed something else: deliver the result again on the page of the order. A replacement is a new order in the shop, which costs again.";

/** Codes in clear. Nothing keeps this page. */
export function revealedUnits(
  reference: string,
  units: readonly Readonly<Record<string, string>>[],
  order: OrderDetail | null,
  { returnTo }: FormContext,
): Html {
  const entry = order?.entries.find((it) => it.reference === reference);
  return html`<p class="warning">The audit log has that you saw them. This page is not kept: to see them again, press "Show the codes" again.</p>
<dl class="facts"><div><dt>Entry</dt><dd class="code">${reference}</dd></div>
${order === null || entry === undefined ? null : html`<div><dt>Order</dt><dd>${orderLink(order.source, order.orderId)} line ${entry.lineId}</dd></div><div><dt>Asked</dt><dd>${entry.asked}</dd></div><div><dt>Supplier's order</dt><dd>${entry.orderNumber ?? '-'}</dd></div>`}</dl>
${units.map((unit, index) => html`<section class="card"><h2>Unit ${index + 1}</h2><dl class="facts">${Object.entries(unit).map(([name, value]) => html`<div><dt>${name}</dt><dd class="code">${value}</dd></div>`)}</dl></section>`)}
${units.length === 0 ? html`<p>There are no units.</p>` : html`<p>${customerAdvice}</p>`}
<p><a href="${returnTo}">Back to the page</a></p>`;
}
