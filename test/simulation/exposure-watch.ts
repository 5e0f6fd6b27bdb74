import type { Database } from 'better-sqlite3';
import type { OpenAttempt } from '../../src/buying/queue/claim-sql.ts';
import type { Invariant } from './invariants.ts';

/**
 * A product with so many unknown outcomes gets no call for another entry; one that was never sold
 * has no more under way.
 */
const ofProduct = 2;
/** So many orders of a family are open before one was delivered. */
const ofFamily = 2;
/** A worker that begins a call knows what was due so long ago. */
const knownMs = 5;

interface OpenEntry {
  readonly reference: string;
  readonly state: string;
  readonly operation: string;
  readonly product: string | null;
  readonly currency: string | null;
  /** It may be charged to another balance, so it does not wait for its own. */
  readonly hasFallback: 0 | 1;
  readonly outcomeUnknown: 0 | 1;
}

/** A pause that the worker opened and that an order of its scope is to end. */
interface TriedPause {
  readonly scope: string;
  readonly probeAtMs: number | null;
}

/** Accepted orders that an operator must look at. */
const reviewedSql = `SELECT count(*) FROM entries e WHERE e.state = 'needs_review' AND e.operation <> 'esim_cancel'
  AND (e.operation <> 'gift_card_order') = ? AND EXISTS (
    SELECT 1 FROM attempts a WHERE a.entry_id = e.id AND a.purpose = 'submit' AND a.outcome = 'accepted')`;

/**
 * Counts, from outside and at each call for a new entry, what may have been bought without anybody
 * knowing it: the promise is that no limit is overshot, whatever becomes of the calls under way.
 */
export class ExposureWatch {
  readonly #violate: (invariant: Invariant, sentence: string) => void;
  readonly #totalLimit: () => number;
  readonly #mostCalls: () => number;
  /** References on which an operator has acted: these are not counted. */
  readonly #isTouched: (reference: string) => boolean;
  /** What the wall clock shows; null where it was set in this run. */
  readonly #accepted = new Set<string>();
  readonly #delivered = new Set<string>();

  constructor(options: {
    violate: (invariant: Invariant, sentence: string) => void;
    totalLimit: () => number;
    /** The most calls that the worker may make at a time in this run. */
    mostCalls: () => number;
    isTouched: (reference: string) => boolean;
  }) {
    this.#violate = options.violate;
    this.#totalLimit = options.totalLimit;
    this.#mostCalls = options.mostCalls;
    this.#isTouched = options.isTouched;
  }

  /** The API has accepted an order of this product. */
  accepted(product: string | null): void {
    if (product !== null) this.#accepted.add(product);
  }

  /** An order of the family was delivered, or an operator lifts the limit. */
  delivered(family: string): void {
    this.#delivered.add(family);
  }

  /** A new outbox knows nothing of what was delivered. */
  forget(): void {
    this.#accepted.clear();
    this.#delivered.clear();
  }

  /** In a paused scope one order is sent at a time, and only when the scope is due to be tried. */
  #checkTrials(
    entry: OpenAttempt['entry'],
    sending: readonly OpenEntry[],
    database: Database,
  ): void {
    const paused = database
      .prepare<[], TriedPause>(
        `SELECT scope, probe_steady AS probeAtMs FROM pauses
         WHERE opened_by = 'worker' AND reason <> 'connector_unproven' AND scope <> 'account' AND scope NOT LIKE 'key:%'`,
      )
      .all();
    const own = scopesOf({ ...entry, product: entry.variant ?? entry.plan });
    const hasFallback = entry.rules.fallback_currency !== undefined;
    const { steadyMs } = timeOf(database);
    for (const { scope, probeAtMs } of paused) {
      const isBalance = scope.startsWith('balance:');
      if (!own.includes(scope)) continue;
      // With another balance it waits only while both are paused.
      const other = `balance:${entry.rules.fallback_currency}`;
      if (hasFallback && isBalance && !paused.some((it) => it.scope === other)) continue;
      const others = sending
        .filter((it) => it.reference !== entry.reference && scopesOf(it).includes(scope))
        // A balance may have been charged for an order of unknown outcome already, so that is
        // settled all the same.
        .filter((it) => !isBalance || (it.hasFallback === 0 && it.outcomeUnknown === 0));
      if (others.length > 0)
        this.#violate(
          'I37',
          `${entry.reference} was sent in ${scope}, which is paused, beside ${others.length} others`,
        );
      if ((probeAtMs ?? Number.POSITIVE_INFINITY) > steadyMs + 5)
        this.#violate('I37', `${entry.reference} was sent in ${scope}, which is paused`);
    }
  }

  /** Beside an order that was due before, lookups have a third of the calls. */
  #checkShareOfLookups(database: Database): void {
    const share = Math.max(1, Math.floor(this.#mostCalls() / 3));
    const sql = `SELECT count(*) FROM attempts WHERE closed_at_ms IS NULL AND purpose = 'lookup'`;
    const lookups = database.prepare<[], number>(sql).pluck().get() ?? 0;
    if (lookups <= share) return;
    const { steadyMs, wallMs } = timeOf(database);
    const due = database
      .prepare<[number, number], string>(
        `SELECT reference FROM entries WHERE state IN ('pending', 'waiting') AND due_steady < ? AND updated_at_ms < ?`,
      )
      .pluck()
      .get(steadyMs - knownMs, wallMs - knownMs);
    if (due !== undefined)
      this.#violate(
        'I40',
        `${lookups} lookups are under way although ${due} is due: their share is ${share}`,
      );
  }

  /** A call for this entry begins: its attempt is on disk. */
  opened({ entry, purpose }: OpenAttempt, database: Database): void {
    if (purpose === 'lookup') this.#checkShareOfLookups(database);
    if (purpose !== 'submit' || entry.outcomeUnknown) return;
    const open = database
      .prepare<[], OpenEntry>(
        `SELECT reference, state, operation, coalesce(variant, plan) AS product, currency,
           rules LIKE '%"fallback_currency"%' AS hasFallback, outcome_unknown AS outcomeUnknown FROM entries
         WHERE state IN ('sending', 'unknown', 'placed')`,
      )
      .all()
      .filter((it) => !this.#isTouched(it.reference));
    // A refusal that a lookup confirms is no unknown outcome.
    const unsettled = open.filter(
      (it) => it.state === 'sending' || (it.state === 'unknown' && it.outcomeUnknown === 1),
    );
    const total = this.#totalLimit();
    if (unsettled.length > total)
      this.#violate(
        'I13',
        `${unsettled.length} outcomes are unknown or under way, the limit is ${total}`,
      );
    const product = entry.variant ?? entry.plan;
    if (product === null) return;
    const same = unsettled.filter(
      (it) => it.product === product && it.reference !== entry.reference,
    );
    const unknown = same.filter((it) => it.state === 'unknown').length;
    if (unknown >= ofProduct || (same.length >= ofProduct && !this.#accepted.has(product)))
      this.#violate(
        'I31',
        `${entry.reference} of ${product} was sent while ${same.length} of it were unsettled`,
      );
    const unproven = unsettled.filter(
      (it) => it.product !== null && !this.#accepted.has(it.product),
    ).length;
    // Half of them for products that fail, and a quarter for new ones.
    const shares = Math.max(1, Math.floor(total / 2)) + Math.max(1, Math.floor(total / 4));
    const most = Math.max(1, Math.min(total - 1, shares));
    if (!this.#accepted.has(product) && unproven > most)
      this.#violate(
        'I31',
        `${unproven} outcomes of products that were never bought are unsettled, of ${total}`,
      );
    this.#checkTrials(
      entry,
      open.filter((it) => it.state === 'sending'),
      database,
    );
    const isEsim = entry.operation !== 'gift_card_order';
    const ofSame = open.filter(
      (it) =>
        it.operation !== 'esim_cancel' &&
        it.state !== 'unknown' &&
        (it.operation !== 'gift_card_order') === isEsim,
    );
    const reviewed =
      database
        .prepare<[0 | 1], number>(reviewedSql)
        .pluck()
        .get(isEsim ? 1 : 0) ?? 0;
    if (ofSame.length + reviewed > ofFamily && !this.#delivered.has(isEsim ? 'esim' : 'gift_card'))
      this.#violate(
        'I32',
        `${ofSame.length} orders are open, and none of the family was ever delivered`,
      );
  }
}

function scopesOf(entry: Pick<OpenEntry, 'operation' | 'product' | 'currency'>): readonly string[] {
  const isGiftCard = entry.operation === 'gift_card_order';
  return [
    `family:${isGiftCard ? 'gift_card' : 'esim'}`,
    `balance:${entry.currency}`,
    ...(entry.product === null ? [] : [`${isGiftCard ? 'variant' : 'plan'}:${entry.product}`]),
  ];
}

/** What the clocks showed when the last attempt was opened. */
export function timeOf(database: Database): { steadyMs: number; wallMs: number } {
  const mark = database
    .prepare<[], { steadyMs: number; wallMs: number }>(
      'SELECT steady_ms AS steadyMs, steady_ms + ahead_ms AS wallMs FROM steady_time',
    )
    .get();
  return mark ?? { steadyMs: 0, wallMs: 0 };
}
