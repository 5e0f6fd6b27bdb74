import { mutantsOfAnswers } from './mutants-of-answers.ts';
import { mutantsOfIntake } from './mutants-of-intake.ts';
import { mutantsOfLoss } from './mutants-of-loss.ts';
import { mutantsOfSinks } from './mutants-of-sinks.ts';
import { mutantsOfSpending } from './mutants-of-spending.ts';
import { mutantsOfScopes, mutantsOfUnitsAndClocks } from './mutants-of-scopes.ts';
import type { Mutant } from './mutant.ts';

const table = 'buying/decision/decision-table.ts';
const settlement = 'buying/decision/settlement.ts';
const lookup = 'buying/decision/decide-lookup.ts';
const run = 'buying/run-call.ts';
const read = 'buying/proofs/budgeted-read.ts';
const dispatcher = 'buying/dispatcher.ts';
const gate = 'buying/budget/budget-gate.ts';
const classify = 'wholesale/classify.ts';

/** The bugs that a worker like this one is most likely to have, or to get. */
export const mutants: readonly Mutant[] = [
  {
    name: 'a 4xx after an ambiguous attempt is believed',
    file: table,
    changes: [
      [
        'rejectionOfPurchase = row(reject, resolve, unexplained, review)',
        'rejectionOfPurchase = row(reject, reject, unexplained, review)',
      ],
    ],
  },
  {
    name: '402 after an ambiguous attempt is believed',
    file: table,
    changes: [["row(waitFor('balance'), resolve,", "row(waitFor('balance'), waitFor('balance'),"]],
  },
  {
    name: '409 out_of_stock after an ambiguous attempt is believed',
    file: table,
    changes: [["row(waitFor('stock'), resolve,", "row(waitFor('stock'), reject,"]],
  },
  {
    name: 'any lookup after an ambiguous cancel confirms the cancel',
    file: lookup,
    changes: [
      [
        'if (showsCancelled(answer, facts.iccid))',
        'if (showsCancelled(answer, facts.iccid) || facts.iccid !== null)',
      ],
    ],
  },
  {
    name: 'a cut success counts as accepted',
    file: classify,
    changes: [
      [
        "if (json === undefined) return unreadable('a success whose body is not complete JSON');",
        "if (json === undefined) return { row: 'accepted', http, message: '', answer: { orderNumber: null, reference: null, status: null, statusClass: 'refunded', cost: null, currency: null, units: [] } };",
      ],
    ],
  },
  {
    name: 'a refunded order counts as rejected',
    file: settlement,
    changes: [["return { ...done, state: 'refunded' };", "return { ...done, state: 'rejected' };"]],
  },
  {
    name: 'a redirect counts as not processed',
    file: table,
    changes: [
      [
        "redirect: row(\n    { ...unknown, pause: 'account' },",
        "redirect: row(\n    { ...again, pause: 'account' },",
      ],
    ],
  },
  {
    name: 'the 404 of a proxy is the API saying not_found',
    file: classify,
    changes: [
      [
        'if (end.http < 500) return',
        "if (end.http === 404) return answered({ row: 'not_found', http: 404, message, code: 'not_found' });\n  if (end.http < 500) return",
      ],
    ],
  },
  {
    name: "a 5xx without the API's body counts as not processed",
    file: table,
    changes: [['foreign_server_error: ambiguous', 'foreign_server_error: everywhere(again)']],
  },
  {
    name: 'an absence is believed before the end of the in-flight window',
    file: lookup,
    changes: [
      [
        "const delayed = lookUpAfterDelay(input, 'not_found');\n  return delayed ?? neverArrived(input);",
        "const delayed = facts.buffered === null ? lookUpAfterDelay(input, 'not_found') : null;\n  return delayed ?? neverArrived(input);",
      ],
    ],
  },
  {
    name: 'one absence is believed',
    file: lookup,
    changes: [['facts.absences + 1 >= policy.absenceTries', 'facts.absences >= 0']],
  },
  {
    name: 'lookups ask the wrong family',
    file: run,
    changes: [
      ['family: familyOf(entry.operation),\n      key,', "family: 'gift_card',\n      key,"],
    ],
  },
  {
    name: 'a 429 rejects the order',
    file: table,
    changes: [
      [
        "rate_limited: everywhere({ verdict: 'again', schedule: 'rate_limit' })",
        'rate_limited: everywhere(reject)',
      ],
    ],
  },
  {
    name: 'a 401 rejects the order',
    file: table,
    changes: [
      ["invalid_key: everywhere({ ...again, pause: 'key' })", 'invalid_key: everywhere(reject)'],
    ],
  },
  {
    name: 'maintenance rejects the order',
    file: table,
    changes: [
      [
        "api_disabled: everywhere({ ...again, pause: 'account' })",
        'api_disabled: everywhere(reject)',
      ],
    ],
  },
  {
    name: 'a dropped connection counts as not sent',
    file: 'wholesale/transport/call-end.ts',
    changes: [["return 'dropped';", "return 'unreachable';"]],
  },
  {
    name: 'a timeout counts as not processed',
    file: table,
    changes: [
      [
        "headers_timeout: ambiguousThen('slow')",
        "headers_timeout: { ...ambiguousThen('slow'), clean: { ...again, schedule: 'slow' } }",
      ],
    ],
  },
  {
    name: 'a call found open at the start counts as not sent',
    file: table,
    changes: [
      [
        "crashed: ambiguousThen('now')",
        "crashed: { ...ambiguousThen('now'), clean: { ...again, schedule: 'now' } }",
      ],
    ],
  },
  {
    name: 'an ambiguous cancel counts as not sent',
    file: table,
    changes: [
      [
        "const unknownCancel: Cell = { verdict: 'unknown', schedule: 'cancel' };",
        "const unknownCancel: Cell = { verdict: 'again', schedule: 'cancel' };",
      ],
    ],
  },
  {
    name: 'calls that were open are not recovered at the start',
    file: 'buying/recovery.ts',
    changes: [['for (const attempt of open) {', 'for (const attempt of open.slice(0, 0)) {']],
  },
  {
    name: 'the entry is not marked as sending before the call',
    file: 'buying/queue/claim-sql.ts',
    changes: [['if (request !== null) startSending(database, row, request, claim);', '']],
  },
  {
    name: 'a retry has a new reference',
    file: run,
    changes: [
      [
        '      ...request,\n',
        '      ...request,\n      body: entry.tries === 0 ? request.body : (request.body?.replace(/"reference":"os-./, \'"reference":"os-\' + entry.tries) ?? null),\n',
      ],
    ],
  },
  {
    name: 'the reference depends on the row, not on the order',
    file: 'store/intake/new-lines.ts',
    changes: [['generation: 0,', 'generation: requestId % 3,']],
  },
  {
    name: 'the budget is forgotten at a restart',
    file: dispatcher,
    changes: [['gate.restore(', 'void Array.of(']],
  },
  {
    name: 'the budget follows the wall clock',
    file: gate,
    changes: [['this.#clock.steadyMs()', 'this.#clock.wallMs()']],
  },
  {
    name: 'spending calls are not counted as orders',
    file: gate,
    changes: [
      [
        "if (kind === 'spend') {\n      key.orders.take(now);",
        "if (kind === 'spend') {\n      key.orders.take(now);\n      key.orders.giveBack();\n      key.orders.take(now);",
      ],
      [
        "if (kind === 'spend') key.orders.settle(settledMs);",
        "if (kind === 'spend') key.orders.giveBack();",
      ],
    ],
  },
  {
    name: 'a slot comes back one window after the call started',
    file: run,
    changes: [
      [
        'const settledMs = slotSettledMs(this.#deps, outcome);',
        'const settledMs = outcome.sent ? end.started : null;',
      ],
    ],
  },
  {
    name: 'no allowance for a given-up call that is still on its way',
    file: read,
    changes: [['outcome.http === null ? now + deps.limits.transitMs : now', 'now']],
  },
  {
    name: 'a call without an answer costs no slot',
    file: read,
    changes: [
      [
        'outcome.http === null ? now + deps.limits.transitMs : now',
        'outcome.http === null ? null : now',
      ],
    ],
  },
  {
    name: 'no allowance for calls of the process before',
    file: gate,
    changes: [
      [
        'return this.#clock.steadyMs() + this.#limits.transitMs;',
        'return this.#clock.steadyMs() - this.#limits.windowMs;',
      ],
    ],
  },
  {
    name: 'commits are not synced',
    file: 'store/sqlite/database.ts',
    changes: [
      ["database.pragma('synchronous = FULL');", "database.pragma('synchronous = NORMAL');"],
      ['synchronous = 2, foreign_keys', 'synchronous = 1, foreign_keys'],
    ],
  },
  {
    name: 'a delivery is recorded before it is made',
    file: 'results/delivery-loop.ts',
    changes: [
      [
        'end = await delivery.deliver(',
        'await store.results.closeDelivery({ requestId, sink: sink.name, version, nowMs: clock.wallMs() });\n      end = await delivery.deliver(',
      ],
    ],
  },
  {
    name: 'a failed delivery is not tried again',
    file: 'results/delivery-loop.ts',
    changes: [
      [
        'await store.results.failDelivery({ ...failed, retryAtMs: clock.steadyMs() + delayMs, countsTry });',
        'await store.results.closeDelivery({ requestId, sink: sink.name, version, nowMs: clock.wallMs() });',
      ],
    ],
  },
  {
    name: 'a result depends on when it is written',
    file: 'store/results/result-reader.ts',
    changes: [
      [
        'updated_at: isoTime(request.updated_at_ms)',
        'updated_at: isoTime(request.updated_at_ms + request.version)',
      ],
    ],
  },
  {
    name: 'nothing limits how many outcomes are unknown',
    file: 'buying/queue/exposure.ts',
    changes: [
      ['total >= mostInAll', 'total >= 1000'],
      ['if (unknown >= limit) return false;', 'if (unknown < 1000) return true;'],
    ],
  },
  {
    name: 'a pause is not recorded',
    file: run,
    changes: [['pause,\n      scopes', 'pause: null,\n      scopes']],
  },
  {
    name: 'a probe that fails ends the pause',
    file: 'buying/breakers/pauses.ts',
    changes: [["if (verdict === 'open')", "if (verdict !== 'cannot_tell')"]],
  },
  {
    name: 'an order is complete without all its units',
    file: settlement,
    changes: [
      [
        "(verdict === null || verdict.kind === 'complete') && answer.statusClass !== 'pending'",
        "answer.statusClass !== 'none'",
      ],
    ],
  },
  {
    name: 'an answer about another order is believed',
    file: 'wholesale/client.ts',
    changes: [['if (message === null) return', 'if (message !== undefined) return']],
  },
  {
    name: 'one eSIM is spent on by two calls at once',
    file: 'buying/queue/queue-sql.ts',
    changes: [['AND ${iccidIsFree}', '']],
  },
  {
    name: 'an entry with an unknown outcome is sent again after its deadline',
    file: 'core/entry/resend.ts',
    changes: [['const isLate = isOverdue(facts, nowMs);', 'const isLate = false;']],
  },
  {
    name: 'the deadline of an order is not looked at',
    file: 'buying/queue/queue-sql.ts',
    changes: [
      ['AND ${mayStart}', ''],
      ['AND not_after_ms <= ?', 'AND not_after_ms <= ? - 1e12'],
    ],
  },
  {
    name: 'a split loses a part',
    file: 'core/entry/replacement.ts',
    changes: [['[larger, quantity - larger].map', '[larger].map']],
  },
  {
    name: 'the parts of a split have the whole quantity',
    file: 'core/entry/replacement.ts',
    changes: [['    quantity: size,\n', '    quantity: Math.min(quantity - 1, size + 1),\n']],
  },
  {
    name: 'sending continues while the disk is full',
    file: dispatcher,
    changes: [['if (!(await this.#disk.hasSpace())) return null;', '']],
  },
  {
    name: 'an outcome that could not be recorded stops nothing',
    file: dispatcher,
    changes: [
      [
        '.add(() => this.#claimAndCall(step), { priority }) .catch((error: unknown) => this.#loop.fail(error))',
        '.add(() => this.#claimAndCall(step), { priority }).catch(() => undefined)',
      ],
    ],
  },
  {
    name: 'a delivery that could not be recorded stops nothing',
    file: 'results/delivery-loop.ts',
    changes: [
      ['this.#unrecorded ??= { error };', 'void error;'],
      ['if (!isOutboxBlocked(error)) this.#loop.fail(error);', ''],
    ],
  },
  {
    name: 'a lock of another program ends the worker',
    file: 'ops/disk-guard.ts',
    changes: [['DISK_FULL|DATABASE_BUSY|SQLITE_FULL|SQLITE_BUSY.*', 'DISK_FULL|SQLITE_FULL']],
  },
  {
    name: 'an entry that an operator holds is sent',
    file: 'core/operator/operator-decision.ts',
    changes: [["state: 'held', heldFrom: facts.state", 'state: facts.state, heldFrom: null']],
  },
  {
    name: 'a scope that an operator paused is sent',
    file: 'store/entries/pauses.ts',
    changes: [['if (paused.all.has(family) ||', 'if (']],
  },
  {
    name: 'an order that was re-ordered can be re-ordered again',
    file: 'core/entry/states.ts',
    changes: [['entry.mayBeBought || entry.replaced ? []', 'entry.mayBeBought ? []']],
  },
  {
    name: 'an entry that an operator retries counts as clean',
    file: 'core/operator/operator-decision.ts',
    changes: [
      [
        "if (!mayBeBought(facts)) return accept({ ...again, state: 'waiting'",
        "if (facts.reference !== '') return accept({ ...again, outcomeUnknown: false, state: 'waiting'",
      ],
    ],
  },
  {
    name: 'an operator may call an order rejected while its call is still under way',
    file: 'core/operator/operator-decision.ts',
    changes: [
      [
        'facts.outcomeUnknown && facts.inFlightWindowLeftMs > 0',
        'facts.outcomeUnknown && facts.inFlightWindowLeftMs > 1e9',
      ],
    ],
  },
  {
    name: 'the key is logged',
    file: run,
    changes: [['key: key.name,\n      outcome', 'key: key.value,\n      outcome']],
  },
  ...mutantsOfLoss,
  ...mutantsOfAnswers,
  ...mutantsOfIntake,
  ...mutantsOfScopes,
  ...mutantsOfUnitsAndClocks,
  ...mutantsOfSinks,
  ...mutantsOfSpending,
];
