import { stepsOf } from './steps.ts';
import { pino } from 'pino';
import { withoutAnswer } from '../../src/core/answers/outcome.ts';
import { usualTries } from '../../src/buying/decision/settlement.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';
import type { Store } from '../../src/store/store.ts';
import type { AttemptDeps } from '../../src/buying/run-call.ts';
import { AccountCheck } from '../../src/buying/proofs/account-check.ts';
import { BudgetGate } from '../../src/buying/budget/budget-gate.ts';
import { LookupCheck } from '../../src/buying/proofs/lookup-check.ts';
import { Pauses } from '../../src/buying/breakers/pauses.ts';
import type { WholesalePort } from '../../src/wholesale/wholesale-port.ts';

/**
 * What attempts need, on a real store. Unless `port` says otherwise, every call of the API ends
 * without an answer.
 */
export function attemptDeps(store: Store, port: Partial<WholesalePort> = {}): AttemptDeps {
  const clock = new SystemClock();
  const random = (): number => 0.5;
  const limits = { windowMs: 60_000, requests: 60, orders: 20, transitMs: 1000 };
  const dropped = withoutAnswer('dropped', true, 'the connection ended');
  return {
    store,
    steps: stepsOf(store),
    wholesale: {
      render: () => ({ method: 'POST', path: '/orders', body: '{}' }),
      submit: async () => dropped,
      canLookUp: () => true,
      lookupPath: () => '/orders/{key}',
      lookUp: async () => ({ kind: 'failed', outcome: dropped }),
      probe: async () => ({ outcome: dropped, verdict: 'closed' }),
      connectorHash: () => '0000000000000000',
      ...port,
    },
    gate: new BudgetGate(['main'], limits, clock),
    lookups: new LookupCheck(stepsOf(store)),
    accounts: new AccountCheck(),
    pauses: new Pauses({
      store,
      clock,
      random,
      retryTimeScale: 1,
      logger: pino({ level: 'silent' }),
    }),
    clock,
    random,
    logger: pino({ level: 'silent' }),
    limits,
    policy: {
      inFlightWindowMs: 1,
      referenceExpiryMs: 86_400_000,
      placedDeadlineMs: 1,
      cancelTries: 3,
      ...usualTries,
      retryTimeScale: 1,
    },
    keyValue: () => 'key',
  };
}
