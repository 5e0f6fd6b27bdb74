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
    name: 'after a loss an order that allows fewer units is sent whole',
    file: 'buying/decision/after-loss.ts',
    changes: [
      ["mayHaveParts(facts, 'partial') ? replacementsFor('out_of_stock', facts) : [];", '[];'],
    ],
  },
  {
    name: 'after a loss the replacement is not looked up',
    file: 'buying/queue/claim-sql.ts',
    changes: [
      ["entry.recoveryStage === 'replacement' ? firstReplacementOf(outbox, row) : null", 'null'],
    ],
  },
  {
    name: 'after a loss an order ends because its replacement is absent',
    file: 'buying/decision/decide-lookup.ts',
    changes: [['if (settlement.state === facts.state) return settlement;', 'return settlement;']],
  },
  {
    name: 'after a loss the rejection of the whole order is believed of its parts',
    file: 'buying/decision/after-loss.ts',
    changes: [['if (!mayHaveBoughtParts(facts) ||', 'if (facts.recoveryStage !== null ||']],
  },
  {
    name: 'after a loss nothing is looked up first',
    file: 'store/entries/entry-changes.ts',
    changes: [
      [
        "SET state = 'unknown', outcome_unknown = 1, next_step = 'send', recovery_stage = 1",
        "SET state = 'unknown', outcome_unknown = 0, next_step = 'send', recovery_stage = 3",
      ],
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
];
