import type { Mutant } from './mutant.ts';

const evidence = 'buying/breakers/evidence.ts';
const exposure = 'buying/queue/exposure.ts';
const judge = 'buying/breakers/judge-call.ts';
const lanes = 'store/entries/pauses.ts';
const kept = 'buying/breakers/evidence-sql.ts';
const canary = 'store/entries/connector-canary.ts';
const pauses = 'buying/breakers/pauses.ts';

/** Bugs that let one bad thing stop others, or that end no pause. */
export const mutantsOfScopes: readonly Mutant[] = [
  {
    name: 'the balance is paused at the first 402',
    file: evidence,
    changes: [["scope: 'balance',\n    entries: 3,", "scope: 'balance',\n    entries: 1,"]],
  },
  {
    name: 'a refusal of a product counts before a lookup has confirmed it',
    file: judge,
    changes: [
      [
        "const reason = sign === 'product_refused' && call.purpose === 'submit' ? null : sign;",
        'const reason = sign;',
      ],
    ],
  },
  {
    name: 'an accepted order does not resume its balance',
    file: judge,
    changes: [
      ['if (call.isAccepted) return !isOther;', "if (call.isAccepted) return by !== 'accepted';"],
    ],
  },
  {
    name: 'the trial of a balance is never one that it has not refused',
    file: 'buying/queue/choose.ts',
    changes: [['hasWaiting !== (turn % 2 === 1)', 'hasWaiting !== turn >= 0']],
  },
  {
    name: 'the unknown outcomes of one product are not limited',
    file: exposure,
    changes: [
      ['if (unknown >= limit) return false;', ''],
      ['if (unknown + underWay > 0) return false;', ''],
      ['unknown + underWay < Math.max(', 'unknown + underWay < Math.max(1000, '],
    ],
  },
  {
    name: 'a product that was never bought counts as proven',
    file: exposure,
    changes: [['products.isProven(it) && !products.isFailing(it)', '!products.isFailing(it)']],
  },
  {
    name: 'products that were never bought take all unknown outcomes',
    file: exposure,
    changes: [
      [
        'if (products.isFailing(product)) return unproven < half;',
        'if (products.isFailing(product)) return true;',
      ],
      ['return ofNew < quarter && unproven <', 'return ofNew < mostInAll || unproven <'],
    ],
  },
  {
    name: 'a family is paused because of what its products refuse',
    file: evidence,
    changes: [
      [
        "familyEntries: null,\n    clearedBy: 'verdict',",
        "familyEntries: 2,\n    clearedBy: 'verdict',",
      ],
    ],
  },
  {
    name: 'the limit of unknown outcomes does not count the calls under way',
    file: 'store/entries/open-calls.ts',
    changes: [
      [
        "FROM entries WHERE state = 'sending')",
        "FROM entries WHERE state = 'sending' AND outcome_unknown = 1)",
      ],
    ],
  },
  {
    name: 'a clean absence does not end an unknown outcome',
    file: 'buying/decision/decide-lookup.ts',
    changes: [['= isFirst || !policy', '= isFirst || facts.attempts < 1e9 || !policy']],
  },
  {
    name: 'a trial sends many orders at once',
    file: pauses,
    changes: [
      [
        'for (const scope of scopes) this.#trials.set(scope, attemptId);',
        'this.#trials.delete(String([scopes, attemptId]));',
      ],
    ],
  },
  {
    name: 'a trial that failed is repeated at once',
    file: kept,
    changes: [
      [
        'for (const { scope, probeAtMs } of postpone) postponeProbe(database, scope, probeAtMs);',
        '',
      ],
    ],
  },
  {
    name: 'a pause that evidence asks for is not recorded',
    file: kept,
    changes: [['for (const pause of open) recordPause(database, { ...pause, nowMs });', '']],
  },
  {
    name: 'a paused product is sent',
    file: lanes,
    changes: [
      [
        'if (paused.all.has(family) || (product !== null && paused.all.has(product))) return true;',
        'if (paused.all.has(family)) return true;',
      ],
    ],
  },
  {
    name: 'the pause of a product holds up its family',
    file: lanes,
    changes: [
      [
        '(product !== null && paused.all.has(product))',
        "(product !== null && [...paused.all].some((it) => it.split(':')[0] === product.split(':')[0]))",
      ],
    ],
  },
  {
    name: 'a family is paused because of one product',
    file: judge,
    changes: [['(isFamily && products < 2)', '(isFamily && products < 1)']],
  },
  {
    name: 'a mismatch pauses the account',
    file: evidence,
    changes: [
      [
        "rows: ['answer_mismatch'],\n    scope: 'product',",
        "rows: ['answer_mismatch'],\n    scope: 'account',",
      ],
    ],
  },
  {
    name: 'a mismatch pauses nothing',
    file: evidence,
    changes: [['entries: 1,\n    familyEntries: 2,', 'entries: 9,\n    familyEntries: 9,']],
  },
  {
    name: 'the account is paused after one call without an answer',
    file: evidence,
    changes: [["scope: 'account',\n    entries: 3,", "scope: 'account',\n    entries: 1,"]],
  },
  {
    name: 'an order that left, and failed again, shows that nothing reaches the API',
    file: judge,
    changes: [['neverLeftRows.has(row) && evidence', "row !== 'accepted' && evidence"]],
  },
  {
    name: 'an account that was unreachable does not resume',
    file: pauses,
    changes: [
      [
        "if (verdict === 'open') {",
        "if (verdict === 'open' && pause.reason !== 'api_unreachable') {",
      ],
    ],
  },
  {
    name: 'a probe that failed is repeated at once',
    file: pauses,
    changes: [
      [
        'await this.#deps.store.pauses.postponeProbe(pause.scope, this.#tryAtMs(pause.reason, probes));',
        '',
      ],
    ],
  },
  {
    name: 'the delay of a probe does not grow',
    file: judge,
    changes: [['rule.firstMs * 2 ** Math.min(probes, 20)', 'rule.firstMs']],
  },
  {
    name: 'an order is the probe after one probe that cannot tell',
    file: pauses,
    changes: [['const probesBeforeTrial = 3;', 'const probesBeforeTrial = 1;']],
  },
  {
    name: 'a probe that cannot tell ends the pause',
    file: 'core/answers/probe.ts',
    changes: [["isFailure ? 'closed' : 'cannot_tell'", "isFailure ? 'closed' : 'open'"]],
  },
  {
    name: 'the first orders of a family are not limited',
    file: canary,
    changes: [['if (readMeta(database, provenName(family)) === connector) continue;', 'continue;']],
  },
  {
    name: 'a delivered order does not lift the limit of its family',
    file: 'buying/commit-sql.ts',
    changes: [['proveConnectorByOrder(database, row.operation, attemptId, nowMs);', '']],
  },
  {
    name: 'an order that ended in review lets another one of an unproven family be bought',
    file: canary,
    changes: [["['entries_attention', \"state IN ('needs_review', 'held')\"],", '']],
  },
  {
    name: 'units with a field that was not read are delivered',
    file: 'buying/decision/settlement.ts',
    changes: [
      [
        'if (isComplete && verdict !== null && unreadText(answer) !== null) return needsReview(unreadReason);',
        '',
      ],
    ],
  },
  {
    name: 'several claims are made at a time',
    file: 'buying/dispatcher.ts',
    changes: [
      ['#claims = new PQueue({ concurrency: 1 });', '#claims = new PQueue({ concurrency: 9 });'],
    ],
  },
  {
    name: 'lookups have no share of the places for calls',
    file: 'buying/dispatcher.ts',
    changes: [['lookup: isSendDue ? third : concurrency,', 'lookup: concurrency,']],
  },
  {
    name: 'a call that was open when the worker died is recorded as never sent',
    file: 'buying/recovery.ts',
    changes: [["withoutAnswer('crashed', true,", "withoutAnswer('crashed', false,"]],
  },
  {
    name: 'a reload does not lower the limit of orders',
    file: 'buying/budget/budget-gate.ts',
    changes: [['key.orders.resize(limits.orders);', '']],
  },
  {
    name: 'a reload does not lower the limit of requests',
    file: 'buying/budget/budget-gate.ts',
    changes: [['key.requests.resize(limits.requests);', '']],
  },
];

const units = 'core/answers/units.ts';
const settlement = 'buying/decision/settlement.ts';
const clock = 'ops/system-clock.ts';

/** Bugs of delivered units, and of clocks that are set. */
export const mutantsOfUnitsAndClocks: readonly Mutant[] = [
  {
    name: 'a placeholder is delivered as a code',
    file: units,
    changes: [["if (waitingWords.has(word)) return 'waiting';", '']],
  },
  {
    name: 'what only repeats the product is delivered as a code',
    file: units,
    changes: [["return names.has(word) ? 'name' : 'value';", "return 'value';"]],
  },
  {
    name: 'units are delivered while their order is still pending',
    file: settlement,
    changes: [[" && answer.statusClass !== 'pending';", ';']],
  },
  {
    name: 'the first of more units than ordered are delivered',
    file: units,
    changes: [
      ["different > ordered ? 'more'", "different > 1e9 ? 'more'"],
      [
        'units: believable.slice(0, keptUnits(order.quantity)), shown',
        'units: believable.slice(0, ordered), shown',
      ],
    ],
  },
  {
    name: 'a unit that is shown twice is delivered twice',
    file: units,
    changes: [["different < shown ? 'repeated'", "different < 0 ? 'repeated'"]],
  },
  {
    name: 'steady time goes back by an hour at a restart',
    file: clock,
    changes: [['last.steadyMs - (isSameRun', 'last.steadyMs - 3_600_000 - (isSameRun']],
  },
  {
    name: 'steady time counts the time in which the machine was off',
    file: clock,
    changes: [
      ['last.steadyMs - (isSameRun', 'last.steadyMs + (wallMs - last.wallMs) - (isSameRun'],
    ],
  },
  {
    name: 'the mark of steady time is not written',
    file: 'store/sqlite/steady-time.ts',
    changes: [['if (mark !== null) write', 'if (mark === null) write']],
  },
  {
    name: 'due times follow the wall clock',
    file: clock,
    changes: [
      ['return this.#machine.steadyMs() + this.#aheadMs;', 'return this.#machine.wallMs();'],
    ],
  },
  {
    name: 'a reference does not age while the machine is off',
    file: 'store/sqlite/steady-time.ts',
    changes: [['if (offMs > 0) for', 'if (offMs < 0) for']],
  },
  {
    name: 'an open order is looked up with a key of any account',
    file: 'store/entries/sender-keys.ts',
    changes: [['AND a.key_fingerprint <> ', 'AND 0 AND a.key_fingerprint <> ']],
  },
  {
    name: 'an open order is sent again with a key of any account',
    file: 'buying/queue/queue-sql.ts',
    changes: [['otherSender: otherSenderOf(database, row.id, fingerprint),', 'otherSender: null,']],
  },
  {
    name: 'what a key of another account sent stays open',
    file: 'buying/queue/choose.ts',
    changes: [
      ['const isStopped = otherSender === 1 && senderPause !== null;', 'const isStopped = false;'],
    ],
  },
  {
    name: 'a key of another account does not look up what was sent with it',
    file: 'buying/breakers/pauses.ts',
    changes: [[' && !this.isOfOtherAccount(keyName);', ';']],
  },
];
