import type { Mutant } from './mutant.ts';

const submission = 'core/decision/decide-submission.ts';
const lookup = 'core/decision/decide-lookup.ts';

/** Bugs that believe an answer which proves nothing. */
export const mutantsOfAnswers: readonly Mutant[] = [
  {
    name: 'a refusal that state explains counts without a lookup',
    file: submission,
    changes: [['cell.confirm !== true ||', "typeof cell.confirm !== 'number' ||"]],
  },
  {
    name: 'a refused cancel counts without a lookup',
    file: submission,
    changes: [['cell.confirm !== true ||', "cell.confirm !== true || facts.operation === 'esim_cancel' ||"]],
  },
  {
    name: 'a failed lookup confirms a refusal',
    file: lookup,
    changes: [
      [
        '  const pause = denialOf(outcome, columnFor(facts));',
        '  const pause = denialOf(outcome, columnFor(facts));\n  if (isConfirming(facts)) return believeRefusal(input);',
      ],
    ],
  },
  {
    name: 'a cancel that a lookup shows as done is refused all the same',
    file: lookup,
    changes: [
      [
        'if (showsCancelled(answer, facts.iccid)) {',
        'if (showsCancelled(answer, facts.iccid) && !isConfirming(facts)) {',
      ],
    ],
  },
  {
    name: 'a refusal is confirmed by a lookup that was not made',
    file: lookup,
    changes: [
      [
        "case 'found':\n      return",
        "case 'found':\n      if (isConfirming(input.facts)) return believeRefusal(input);\n      return",
      ],
    ],
  },
];
