import { operations, type Operation, type Purchase } from '../core/order/purchase.ts';
import { outcomeRowFrom } from '../core/answers/outcome.ts';
import { productScope } from '../core/order/scope.ts';
import { lostOutboxMayHaveSent } from '../store/entries/after-loss.ts';
import { adoptConnector, showUnproven } from '../store/entries/connector-canary.ts';
import { endOverdue, flagForReview, recoverEntry } from '../store/entries/entry-changes.ts';
import { originOf } from '../store/entries/esim-origins.ts';
import { readExposure } from '../store/entries/open-calls.ts';
import { columnOf, inTransaction, statementOf } from '../store/sqlite/database.ts';
import { OutboxSteps } from '../store/sqlite/outbox.ts';
import { entryOf, findEntry, type EntryRow } from '../store/sqlite/rows.ts';
import { Budget } from './budget/budget-sql.ts';
import { closeAttempt, type AttemptClose, type ClosedAttempt } from './commit-sql.ts';
import { decisionTable } from './decision/decision-table.ts';
import { AccountKeys } from './proofs/account-keys-sql.ts';
import { wasAccepted, type SpendingCall } from './proofs/call-paths-sql.ts';
import { LookupProofs } from './proofs/lookup-proofs-sql.ts';
import { openAttempt, type AttemptClaim, type OpenAttempt } from './queue/claim-sql.ts';
import type { SpendLimit } from './spending/settings.ts';
import { releaseWithinLimits, watchMoney } from './spending/spending-sql.ts';
import { readWatched, rememberPrices, type PriceGuard } from './spending/unit-costs-sql.ts';
import type { CatalogueFacts } from '../wholesale/catalogue/catalogue-item.ts';
import { nextDeadline, Queue, selectOverdue } from './queue/queue-sql.ts';

type AttemptRow = Pick<OpenAttempt, 'attemptId' | 'purpose'> & { readonly entryId: number };

// By the index of the open ones, which are few: to have them in order, SQLite would read all.
const selectOpen = statementOf<[], AttemptRow>(
  `SELECT id AS attemptId, entry_id AS entryId, purpose FROM attempts INDEXED BY attempts_open WHERE closed_at_ms IS NULL ORDER BY id`,
);

// By the index of what was bought: the cost does not grow with the outbox.
const selectBought = statementOf<[Operation], Pick<Purchase, 'variant' | 'plan'>>(
  `SELECT variant, plan FROM (
     SELECT id, variant, plan FROM entries INDEXED BY entries_bought
     WHERE state = 'fulfilled' AND outcome_row = 'accepted' AND operation = ? ORDER BY id DESC LIMIT 5000)
   GROUP BY variant, plan ORDER BY max(id)`,
);

const selectFailing = columnOf<[], string>(
  'SELECT DISTINCT scope FROM scope_evidence WHERE scope = product',
);

/** Claims due entries and records what their calls led to. */
export class BuyingSteps extends OutboxSteps {
  readonly budget = new Budget(this.outbox);
  readonly lookups = new LookupProofs(this.outbox);
  readonly accountKeys = new AccountKeys(this.outbox);
  readonly #queue = new Queue(this.outbox);

  /**
   * Claims the next due entry and opens its attempt, with the slots of its budget, in one
   * transaction.
   */
  async openAttempt(claim: AttemptClaim): Promise<OpenAttempt | null> {
    return openAttempt(this.outbox, this.#queue, claim);
  }

  /** Records the end of a call: see `closeAttempt`. */
  async closeAttempt(close: AttemptClose): Promise<ClosedAttempt> {
    return closeAttempt(this.outbox, close);
  }

  /**
   * Shows which families wait for their first delivered order, as far as orders of them are due.
   */
  async showUnproven(nowMs: number): Promise<void> {
    const due = this.#queue.dueFamilies(this.outbox.clock.steadyMs());
    if (due.length > 0) inTransaction(this.database, () => showUnproven(this.database, due, nowMs));
  }

  /** Whether such a call was ever accepted under its path: see `wasAccepted`. */
  async hasAccepted(call: SpendingCall): Promise<boolean> {
    return wasAccepted(this.database, call);
  }

  /**
   * The products that were bought last, by their scopes; of each operation the one that was bought
   * last comes last.
   */
  async productsBought(): Promise<readonly string[]> {
    const bought = operations.flatMap((operation) => selectBought(this.database).all(operation));
    return bought.flatMap((purchase) => productScope(purchase) ?? []);
  }

  /** The products that something counts against since, by their scopes. */
  async productsFailing(): Promise<readonly string[]> {
    return selectFailing(this.database).all();
  }

  /**
   * The connector of this run, by its hash: until an order was fulfilled under it, few orders of a
   * family are open.
   */
  async adoptConnector(connector: string, nowMs: number, onAdopted?: () => void): Promise<void> {
    adoptConnector(this.database, connector, nowMs);
    // At once: no order may be opened between the two, under the one mapping for the other.
    onAdopted?.();
  }

  /** Attempts that an earlier run of the worker left open, before this one opens any. */
  async attemptsLeftOpen(): Promise<readonly OpenAttempt[]> {
    return selectOpen(this.database)
      .all()
      .map(({ entryId, ...attempt }) => {
        const row = findEntry(this.database, entryId);
        const facts = {
          entry: entryOf(this.outbox, row),
          originReference: originOf(this.database, row),
        };
        return {
          ...attempt,
          ...facts,
          request: null,
          replacementReference: null,
          trialOf: [],
        };
      });
  }

  /** Releases what a limit on spending held and does not hold any more. Returns how many. */
  async releaseWithinLimits(limits: readonly SpendLimit[], nowMs: number): Promise<number> {
    return releaseWithinLimits(this.outbox, limits, nowMs);
  }

  /** The products whose prices in the catalogue matter. */
  async watchedProducts(): Promise<ReturnType<typeof readWatched>> {
    return readWatched(this.database);
  }

  /** See `rememberPrices`. */
  async rememberPrices(facts: CatalogueFacts, guard: PriceGuard): Promise<boolean> {
    return rememberPrices(this.database, facts, guard);
  }

  readonly watchMoney = this.step(watchMoney);

  /** When the next entry is due, in steady time, or null when none is waiting for one. */
  async nextDueAt(step: AttemptClaim['step'], steadyMs: number): Promise<number | null> {
    return this.#queue.nextAt(step, steadyMs);
  }

  /** The first deadline of an entry for which nothing was charged; null when none has one. */
  readonly nextDeadlineMs = this.first(nextDeadline);

  /**
   * Ends entries whose deadline had passed at `nowMs` while nothing was charged. Returns how many.
   * An entry that an outbox which was lost may have bought becomes `unknown` instead, while fewer
   * than `maxUnknownOutcomes` are.
   */
  async expireOverdue(nowMs: number, maxUnknownOutcomes: number): Promise<number> {
    const { outbox, database } = this;
    const overdue = selectOverdue(database).all(nowMs);
    if (overdue.length === 0) return 0;
    return inTransaction(database, () => {
      let allowed = maxUnknownOutcomes - readExposure(database).total;
      let ended = 0;
      for (const row of overdue) {
        // An entry that a lost outbox may have bought in time must not be reported as expired.
        if (lostOutboxMayHaveSent(database, row)) {
          if (allowed > 0) recoverEntry(database, row, true, nowMs);
          allowed -= 1;
        } else {
          if (row.outcome_row === 'not_cancellable') flagForReview(outbox, row, lateCancel, nowMs);
          else endOverdue(outbox, row, wasOrderRefused(row), nowMs);
          ended += 1;
        }
      }
      return ended;
    });
  }
}

const lateCancel =
  'the deadline of the cancel passed, and nothing showed whether an earlier call has cancelled the eSIM';

/** Whether the API refused this order itself, rather than the account, the key or the rate. */
function wasOrderRefused(row: EntryRow): boolean {
  const outcome = outcomeRowFrom(row.outcome_row);
  const column = row.operation === 'esim_cancel' ? 'cancelClean' : 'clean';
  return outcome !== null && decisionTable[outcome][column].verdict === 'wait';
}
