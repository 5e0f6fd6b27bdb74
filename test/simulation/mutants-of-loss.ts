import type { Mutant } from './mutant.ts';

/** Bugs of orders that allow fewer units, and of an outbox that follows a lost one. */
export const mutantsOfLoss: readonly Mutant[] = [
  {
    name: 'an order that allows fewer units buys one more',
    file: 'core/entry/replacement.ts',
    changes: [['knownLimit: null }, entry.quantity);', 'knownLimit: null }, entry.quantity + 1);']],
  },
  {
    name: 'an order that allows fewer units forgets the second part',
    file: 'core/entry/replacement.ts',
    changes: [
      ['knownLimit: null }, entry.quantity);', 'knownLimit: null }, entry.quantity).slice(0, 1);'],
    ],
  },
  {
    name: 'an order that was bought in part is reported as rejected',
    file: 'core/result/result-document.ts',
    changes: [
      [
        "successes < states.length) return 'partial';",
        "successes < states.length) return 'rejected';",
      ],
    ],
  },
  {
    name: 'after a loss an order that may have been bought in parts is sent',
    file: 'core/entry/after-loss.ts',
    changes: [["operation === 'gift_card_order' &&", "operation === 'esim_cancel' &&"]],
  },
  {
    name: 'after a loss what takes the place of an order is not looked up',
    file: 'buying/queue/claim-sql.ts',
    changes: [['isReplacementSought(entry) ? replacementOf(outbox, row) : null', 'null']],
  },
  {
    name: 'after a loss an order ends because what takes its place is absent',
    file: 'buying/decision/decide-lookup.ts',
    changes: [
      [
        'return { ...again, askedAfterLoss: 1 };',
        'return unknownNotFound({ ...input, facts: { ...facts, askedAfterLoss: 1 } });',
      ],
    ],
  },
  {
    name: 'after a loss nothing is looked up first',
    file: 'store/entries/entry-changes.ts',
    changes: [
      [
        "SET state = 'unknown', outcome_unknown = 1, next_step = 'send', absences = 0",
        "SET state = 'unknown', outcome_unknown = 0, next_step = 'send', absences = 0",
      ],
      ['iif(:isAfterLoss, 0, asked_after_loss)', 'iif(:isAfterLoss, 1, asked_after_loss)'],
    ],
  },
  {
    name: 'an older copy of the outbox is not noticed',
    file: 'core/outbox-progress.ts',
    changes: [['if (isSameDatabase && counters', 'if (isSameDatabase || counters']],
  },
  {
    name: 'an older copy calls the API at once',
    file: 'app/older-copy.ts',
    changes: [['clock.steadyMs() + waitMs;', 'clock.steadyMs();']],
  },
  {
    name: 'an older copy believes what it knew of unknown outcomes',
    file: 'store/entries/after-loss.ts',
    changes: [['restartRecovery(database).run();', '']],
  },
  {
    name: 'an order does not come back from an empty fallback balance',
    file: 'core/entry/replacement.ts',
    changes: [
      [
        "row === 'insufficient_balance' && currency !== null ? currency",
        'row === null && currency !== null ? currency',
      ],
    ],
  },
  {
    name: 'an order whose balances are both paused is sent all the same',
    file: 'store/entries/pauses.ts',
    changes: [
      [
        'return otherBalance === null || paused.withTrials.has(otherBalance);',
        'return otherBalance === null;',
      ],
    ],
  },
];
