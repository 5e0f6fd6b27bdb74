import type { Mutant } from './mutant.ts';

/** Bugs of orders that take fewer, and of the outbox that follows a lost one. */
export const mutantsOfLoss: readonly Mutant[] = [
  {
    name: 'an order that takes fewer takes one more',
    file: 'core/entry/replacement.ts',
    changes: [['knownLimit: null }, entry.quantity);', 'knownLimit: null }, entry.quantity + 1);']],
  },
  {
    name: 'an order that takes fewer forgets the second half',
    file: 'core/entry/replacement.ts',
    changes: [['knownLimit: null }, entry.quantity);', 'knownLimit: null }, entry.quantity).slice(0, 1);']],
  },
  {
    name: 'an order that was bought in part is told as refused',
    file: 'core/result/result-document.ts',
    changes: [["successes < states.length) return 'partial';", "successes < states.length) return 'rejected';"]],
  },
  {
    name: 'after a loss an order that takes fewer is sent whole',
    file: 'core/decision/after-loss.ts',
    changes: [["mayHaveParts(facts, 'partial') ? replacementsFor('out_of_stock', facts) : [];", '[];']],
  },
  {
    name: 'after a loss what may have taken its place is not looked up',
    file: 'store/submission/sqlite-submission.ts',
    changes: [['isReplacement ? this.#entries.replacementReferenceOf(row) : null', 'null']],
  },
  {
    name: 'after a loss an order ends because something else is absent',
    file: 'core/decision/decide-lookup.ts',
    changes: [['if (settlement.state === facts.state) return settlement;', 'return settlement;']],
  },
  {
    name: 'after a loss the refusal of the whole is told of its parts',
    file: 'core/decision/after-loss.ts',
    changes: [
      [
        "facts.recoveryStage === 'none' || !mayHaveParts(facts, 'split')",
        "facts.recoveryStage !== null || !mayHaveParts(facts, 'split')",
      ],
    ],
  },
  {
    name: 'after a loss the first answer is believed',
    file: 'store/submission/entry-changes.ts',
    changes: [
      [
        "SET state = 'unknown', outcome_unknown = 1, next_step = 'send', recovery_stage = 1",
        "SET state = 'unknown', outcome_unknown = 0, next_step = 'send', recovery_stage = 3",
      ],
    ],
  },
];
