import type { AttentionReason } from './attention.ts';

/** What happened in plain words; `%` is what it is about: a product, a paused scope or a sink. */
const headlines: Readonly<Record<AttentionReason, string>> = {
  needs_review: '% needs a decision',
  held: '% is held',
  held_by_shop: '% is held: its shop does not show it as paid',
  over_limit: '% is held: it is over a spending limit',
  held_as_same_line: '% is perhaps the same purchase as an earlier line',
  outcome_unknown: 'Not known whether % was bought',
  older_copy: 'The database is an older copy of the outbox',
  key_used_elsewhere: '% is used by another program',
  paused_by_person: '% is paused by an operator',
  connector_unproven: '% is paused: the mapping is not proven yet',
  api_unreachable: 'The supplier does not answer',
  wrong_address: 'The address of the supplier is wrong',
  key_denied: 'The supplier refuses %',
  account_denied: 'The supplier refuses this account',
  product_refused: 'The supplier refuses %',
  lookup_unproven: 'Lookups do not find orders that were bought',
  balance_low: '% is running low',
  limit_near: 'A spending limit is nearly reached',
  price_rose: '% costs more than before',
  balance_too_low: '% is too low',
  key_of_other_account: '% is of another account',
  paused: '% is paused',
  sink_paused: 'No results reach %',
  awaits_read_back: 'An order waits until it is read from the shop',
  awaits_recheck: 'An order cannot be read again from the shop',
  file_refused: 'An order file is refused',
  result_given_up: 'A result was not delivered to %',
  gone_in_shop: 'The shop has deleted an order',
  nobody_mailed: 'A customer got no mail',
  rejected: 'The supplier refuses %',
  expired: '% was not bought in time',
  units_missing: '% was bought, but its codes are missing',
  shown_twice: 'A code of % was delivered twice',
  uncounted_cost: 'The cost of % cannot be read',
  line_refused: 'An order line has a mistake',
  other_content: 'A known order line came again with other content',
  sku_unknown: 'The SKU map lacks a SKU',
  changed_in_shop: 'An order was changed in its shop',
  webhook_off: 'The shop has switched off its webhook',
  old_sale: 'An order is older than the connection of its shop',
  other_shop: 'An order names another shop',
  delivery_unusable: 'The shop sent a webhook that cannot be used',
  skus_lost: 'The SKU map has lost SKUs',
  signature_refused: 'A webhook has a wrong signature',
  other_worker: 'Another worker buys for this shop',
  waits_long: '% waits for long',
};

/** What a headline is about that no name is given for; an order line where none is here. */
const unnamed: Readonly<Partial<Record<AttentionReason, string>>> = {
  rejected: 'A product',
  product_refused: 'A product',
  price_rose: 'A product',
  paused: 'A product',
  paused_by_person: 'A product',
  connector_unproven: 'A product',
  key_denied: 'A key',
  key_used_elsewhere: 'A key',
  key_of_other_account: 'A key',
  balance_too_low: 'A balance',
  sink_paused: 'A sink',
  result_given_up: 'A sink',
};

/** Refusals whose code says more than that. */
const byCode: Readonly<Record<string, string>> = {
  invalid_variant: 'The supplier does not know %',
  invalid_plan: 'The supplier does not know %',
  out_of_stock: '% is out of stock',
  unknown_sku: 'A SKU is not in the SKU map',
  truncated_tail: 'An order file looks cut off',
};

const refused: readonly AttentionReason[] = ['rejected', 'line_refused', 'file_refused'];

/** A paused scope, sink or product in plain words. */
export function scopeName(scope: string): string {
  const [kind, name = ''] = scope.split(/:(.*)/s);
  switch (kind) {
    case 'account':
      return 'Everything';
    case 'family':
      return name === 'esim' ? 'Buying of eSIMs' : 'Buying of gift cards';
    case 'balance':
      return `The ${name} balance`;
    case 'key':
      return `The key "${name}"`;
    case 'variant':
    case 'plan':
    case 'sink':
      return name;
    default:
      return scope;
  }
}

interface Cause {
  readonly reason: AttentionReason;
  readonly code: string;
  /** What it is about; null: one line or order. */
  readonly subject: string | null;
}

/** The headline of a cause, a sentence without its full stop. */
export function headlineOf({ reason, code, subject }: Cause): string {
  const text = (refused.includes(reason) ? byCode[code] : undefined) ?? headlines[reason];
  const about = subject === null ? (unnamed[reason] ?? 'An order line') : scopeName(subject);
  // A product is named by every headline; a scope only where the headline has a place for it.
  const isProduct = subject !== null && !/:|^account$/.test(subject);
  if (!text.includes('%')) return isProduct ? `${text}: ${subject}` : text;
  return text.replace('%', () => (text.startsWith('%') ? about : inSentence(about)));
}

const inSentence = (name: string): string =>
  name.replace(/^(?:The |An? |Buying |Everything$)/, (it) => it.toLowerCase());

/**
 * The headline of a pause. @param known what the attention list says of it; undefined: it does not
 * show it yet, because it may end by itself
 */
export function pauseHeadline(scope: string, code: string, known?: AttentionReason): string {
  const unlisted = code === 'manual' ? 'paused_by_person' : 'paused';
  const reason = known ?? (isReason(code) ? code : unlisted);
  return headlineOf({ reason, code, subject: scope });
}

const isReason = (code: string): code is AttentionReason => Object.hasOwn(headlines, code);
