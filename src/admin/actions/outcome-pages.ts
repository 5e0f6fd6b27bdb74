import { html } from 'hono/html';
import type { Unit } from '../../core/answers/order-answer.ts';
import { labelledFields } from '../../core/answers/unit-fields.ts';
import { countsText, totalOf } from '../../core/counts.ts';
import { mostInRun, type BulkAction, type BulkFilter } from '../../core/operator/operator-command.ts';
import type { BulkResult } from '../../store/operator/entry-command.ts';
import type { OrderDetail } from '../../store/read/order-detail.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';
import { type BulkPreview, statesOf } from '../bulk-run.ts';
import type { Html } from '../html/document.ts';
import { openForm } from '../pages/action-forms.ts';
import type { FormContext } from '../pages/page-sources.ts';
import { factList, orderLink, table } from '../pages/parts.ts';
import type { AcknowledgeFilter } from './read-form.ts';

/** How many entries of each state a preview names, and how many rows of the attention list it counts. */
const shown = 20;
const mostCounted = 10_000;
const titles = { retry: 'Retry', hold: 'Hold', release: 'Release', cancel: 'Cancel' } as const;

/** The entries that a bulk command would change, with the form that confirms it. */
export function bulkPreview(order: BulkAction, which: BulkFilter, preview: BulkPreview, context: FormContext): Html {
  const { matched, references } = preview;
  if (matched === 0) return html`<p>No entry fits any more.</p>`;
  const { state = '', source = '', code = '', product = '', orders = [], untilMs } = which;
  const filter = { state, source, code, product, orders: orders.join(',') };
  const form = {
    title: `${titles[order]} ${Math.min(matched, mostInRun)} entries`,
    what: 'Each of them is judged again when it is its turn, and has its own row in the audit log.',
    fields: { action: 'bulk', order, ...filter, seen_ms: String(untilMs), confirmed: 'yes' },
  };
  return html`<p>${matched} entries fit: ${countsText(statesOf(preview))}.</p>
${matched > mostInRun ? html`<p class="warning">One run takes ${mostInRun} of them. Repeat it for the others.</p>` : null}
<details><summary>The first of them</summary><ul>${references.slice(0, shown).map((reference) => html`<li class="code">${reference}</li>`)}</ul></details>
${openForm(form, context)}`;
}

/** The outcome of a bulk command. */
export function bulkReport(order: BulkAction, matched: number, { changed, refused }: BulkResult): Html {
  const left = matched - changed.length - refused.length;
  const rows = refused.map(({ reference, message, hint }) => [reference, message, hint]);
  return html`<p class="good">${titles[order]}: ${changed.length} of ${matched} entries are done.</p>
${left > 0 ? html`<p class="warning">${left} are left: repeat it for them.</p>` : null}
${refused.length === 0 ? null : html`<p class="warning">${refused.length} were refused and are as they were.</p>${table('Refused', ['Entry', 'Why', 'What to do'], rows)}`}`;
}

/** How many rows of the attention list would leave it, with the form that confirms it. */
export function acknowledgePreview(
  filter: AcknowledgeFilter,
  read: Pick<OutboxReader, 'attentionCounts'>,
  context: FormContext,
): Html {
  const counts = read.attentionCounts({ ...filter, canAcknowledge: true }, mostCounted);
  const total = totalOf(counts);
  const kept = totalOf(read.attentionCounts({ ...filter, canAcknowledge: false }, mostCounted));
  if (total === 0) return html`<p>No row of this list can be acknowledged: each needs a decision.</p>`;
  const { kind = '', code = '', subject = '', source = '', beforeMs } = filter;
  const which = { kind, code, subject, source };
  const fields = { action: 'acknowledge', ...which, seen_ms: String(beforeMs), confirmed: 'yes' };
  const form = { title: `Acknowledge ${total} rows`, what: 'Nothing is bought, sent or cancelled by that.', fields };
  return html`<p>${total} rows would leave the list: ${countsText(counts)}.</p>
${kept > 0 ? html`<p>${kept} more need a decision and stay.</p>` : null}
${openForm(form, context)}`;
}

const customerAdvice =
  "If a customer says that a code does not work: compare the code, its PIN and its expiry with this page. If they are the same, tell the supplier the number of the supplier's order. If not, the shop showed something else: deliver the result again on the page of the order. A replacement is a new order in the shop, which costs again.";

const code = (text: string): Html => html`<span class="code">${text}</span>`;

/** Codes in clear. Nothing keeps this page. */
export function revealedUnits(reference: string, units: readonly Unit[], order: OrderDetail | null): Html {
  const entry = order?.entries.find((it) => it.reference === reference);
  return html`<p class="warning">The audit log has that you saw them. This page is not kept: to see them again, press "Show the codes" again.</p>
${factList([
  ['Entry', code(reference)],
  [
    'Order',
    entry === undefined ? null : html`${orderLink(order?.source ?? null, order?.orderId ?? null)} line ${entry.lineId}`,
  ],
  ['Asked', entry?.asked ?? null],
  ["Supplier's order", entry?.orderNumber ?? null],
])}
${units.map((unit, index) => html`<section class="card"><h2>Unit ${index + 1}</h2>${factList(labelledFields(unit).map(({ label, value }) => [label, code(value)]))}</section>`)}
<p>${units.length === 0 ? 'There are no units.' : customerAdvice}</p>`;
}
