import type { Mutant } from './mutant.ts';

const submission = 'buying/decision/decide-submission.ts';
const lookup = 'buying/decision/decide-lookup.ts';
const cached = 'core/cached-answers.ts';

/** Bugs that believe an answer which proves nothing. */
export const mutantsOfAnswers: readonly Mutant[] = [
  {
    name: 'a refusal that state explains counts without a lookup',
    file: submission,
    changes: [['isRejection ? afterLookup', 'isRejection === null ? afterLookup']],
  },
  {
    name: 'a refused cancel counts without a lookup',
    file: submission,
    changes: [
      [
        'isRejection ? afterLookup',
        "isRejection && facts.operation !== 'esim_cancel' ? afterLookup",
      ],
    ],
  },
  {
    name: 'only some rejections are looked up before they count',
    file: submission,
    changes: [
      [
        'isRejection ? afterLookup',
        "isRejection && (cell.verdict !== 'reject' || outcome.row === 'order_refused') ? afterLookup",
      ],
    ],
  },
  {
    name: 'a rejection ends an order that cannot be looked up',
    file: submission,
    changes: [["applied.state !== 'rejected' ||", "applied.state !== 'needs_review' ||"]],
  },
  {
    name: 'nobody remembers that a denied call has left',
    file: 'buying/commit-sql.ts',
    changes: [
      ['CASE WHEN :isSent = 1 THEN 1', 'CASE WHEN :isSent = 1 AND :outcomeUnknown = 1 THEN 1'],
    ],
  },
  {
    name: 'what a shop cancels after a denied call is not looked up',
    file: 'store/entries/entry-changes.ts',
    changes: [
      [
        'if (row.sent_since_lookup === 0) change',
        "if (row.sent_since_lookup === 0 || state === 'cancelled') change",
      ],
    ],
  },
  {
    name: 'an order that was denied until its deadline is not looked up',
    file: 'store/entries/entry-changes.ts',
    changes: [
      [
        'if (row.sent_since_lookup === 0) change',
        "if (row.sent_since_lookup === 0 || state !== 'cancelled') change",
      ],
    ],
  },
  {
    name: 'what an operator cancels after a denied call is not looked up',
    file: 'core/operator/operator-decision.ts',
    changes: [['if (!facts.sentSinceLookup)', 'if (!facts.callOpen)']],
  },
  {
    name: 'a key of another account sends what a copy may have bought',
    file: 'store/entries/sender-keys.ts',
    changes: [['`(e.sent_since_lookup = 1 AND', '`(0 AND e.sent_since_lookup = 1 AND']],
  },
  {
    name: 'an operator delivers what an order in progress showed',
    file: 'core/operator/operator-decision.ts',
    changes: [['(isWhole || areNone)', 'isWhole']],
  },
  {
    name: 'a lookup of another order ends the pause of a mismatch',
    file: 'buying/breakers/judge-call.ts',
    changes: [['return !isOther;', 'return true;']],
  },
  {
    name: 'any source cancels what another one bought',
    file: 'store/entries/esim-origins.ts',
    changes: [['buyer === source ||', 'buyer !== undefined ||']],
  },
  {
    name: 'an order that was cancelled and not found is sent again',
    file: 'core/entry/resend.ts',
    changes: [['!isUnasked && !facts.isEnding', '!isUnasked']],
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
  {
    name: 'a cached answer is believed although a header says that it is cached',
    file: cached,
    changes: [
      ['return mark === undefined ? null', "return mark === undefined || mark[0] !== '' ? null"],
    ],
  },
  {
    name: 'an answer that was made before its call is believed',
    file: cached,
    changes: [['dateMs + toleranceMs < sentAtMs', 'dateMs + 1e15 < sentAtMs']],
  },
  {
    name: 'a cached answer that finds nothing is an absence',
    file: 'wholesale/client.ts',
    changes: [['(end.http < 300 || end.http === 404)', 'end.http < 300']],
  },
  {
    name: 'an answer with `Age` counts',
    file: cached,
    changes: [["name === 'age' ? Number(value) > 0 :", "name === 'age' ? Number(value) < 0 :"]],
  },
  {
    name: 'an answer that a cache calls a hit counts',
    file: cached,
    changes: [
      ['!saysNothing.test(name) && hit.test(value)', 'saysNothing.test(name) && hit.test(value)'],
    ],
  },
  {
    name: 'other goods without another reference count as a swapped answer',
    file: submission,
    changes: [
      [
        "typeof answer?.reference === 'string' ? outcome.code : otherGoods",
        "typeof answer?.reference === 'string' ? otherGoods : outcome.code",
      ],
    ],
  },
  {
    name: 'one order number is that of two orders',
    file: 'buying/proofs/collisions-sql.ts',
    changes: [
      [
        'orderNumber === null ? undefined : selectByNumber',
        'orderNumber !== null ? undefined : selectByNumber',
      ],
    ],
  },
  {
    name: 'a refused cancel is rejected although no order shows its eSIM',
    file: submission,
    changes: [["operation !== 'esim_cancel' || isEsimUsed", "operation !== '' || isEsimUsed"]],
  },
  {
    name: 'a link is no unit that another order may have',
    file: 'core/answers/unit-names.ts',
    changes: [['if (unit.url === undefined) return', "if (unit.url !== '') return"]],
  },
  {
    name: 'cards with one number are one card, whatever their PINs are',
    file: 'core/answers/unit-names.ts',
    changes: [["const whole = pin === '' ? alone", "const whole = pin !== '' ? alone"]],
  },
  {
    name: 'an operator gives what another order was delivered',
    file: 'store/operator/entry-command.ts',
    changes: [["shared.other.state !== 'needs_review'", "shared.other.state === 'sending'"]],
  },
  {
    name: 'a number in question is not replaced by an operator',
    file: 'core/operator/operator-decision.ts',
    changes: [['inQuestion ? null : orderNumber', 'inQuestion ? orderNumber : orderNumber']],
  },
  {
    name: 'the result of a line in review has its units',
    file: 'store/results/result-reader.ts',
    changes: [
      [
        "row.state === 'needs_review' || isInQuestion(row)",
        "row.state === 'held' && isInQuestion(row)",
      ],
    ],
  },
  {
    name: 'nobody hears of a cost that is no plain amount',
    file: 'buying/commit-sql.ts',
    changes: [['(answer?.uncountedCost ?? null)', 'null']],
  },
  {
    name: 'nobody hears that somebody else uses a key',
    file: 'store/wholesale-keys.ts',
    changes: [
      ['surprise.isUnexplained ? (before', 'surprise.isUnexplained && nowMs < 0 ? (before'],
    ],
  },
  {
    name: 'the number of another order is kept',
    file: submission,
    changes: [
      [
        'message: foreignText(message, answer), answer: null }',
        'message: foreignText(message, answer) }',
      ],
      [
        'return { ...base, ...resolved, ...delay,',
        'return { ...base, ...resolved, ...delay, answer: outcome.answer && { ...outcome.answer, units: [], cost: null },',
      ],
    ],
  },
  {
    name: 'what another order has is delivered again',
    file: 'buying/commit-sql.ts',
    changes: [
      [
        'const settlement = alsoShown === null ? close.settlement :',
        'const settlement = nowMs > 0 ? close.settlement :',
      ],
    ],
  },
  {
    name: 'a code of another order is delivered again',
    file: 'core/answers/unit-names.ts',
    changes: [["if (code !== '') return", "if (code !== '' && pin !== '') return"]],
  },
  {
    name: 'nobody hears that what was delivered is shown for another order',
    file: 'buying/commit-sql.ts',
    changes: [['markShownTwice(database)', 'if (isPlaced) markShownTwice(database)']],
  },
  {
    name: 'an answer about another order is settled as a refusal',
    file: lookup,
    changes: [
      [
        "if (rejection?.row === 'answer_mismatch') {",
        "if (rejection?.row === 'answer_mismatch' && facts.tries < 0) {",
      ],
    ],
  },
];
