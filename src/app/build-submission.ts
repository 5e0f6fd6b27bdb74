import { usualTries } from '../buying/decision/settlement.ts';
import type { Store } from '../store/store.ts';
import type { RecheckRule } from '../store/entries/rechecks.ts';
import { AccountCheck } from '../buying/proofs/account-check.ts';
import type { ApiClock } from '../buying/proofs/api-clock.ts';
import { BudgetGate } from '../buying/budget/budget-gate.ts';
import { Dispatcher } from '../buying/dispatcher.ts';
import { LookupCheck } from '../buying/proofs/lookup-check.ts';
import { BuyingSteps } from '../buying/steps-sql.ts';
import { Pauses } from '../buying/breakers/pauses.ts';
import { createWholesaleClient, type WholesaleClient } from '../wholesale/client.ts';
import { readWire } from '../wholesale/connector/wire.ts';
import { stopGraceMs } from '../buying/decision/settings.ts';
import type { CurrentConfig, PartDeps, SubmissionParts, WorkerDeps } from './worker-deps.ts';

export function buildWholesaleClient(
  { config, clock, version }: WorkerDeps,
  apiClock: ApiClock,
): WholesaleClient {
  const { timeouts, baseUrl, shopUrl, wire, ca } = config.wholesale;
  const { answerTimes } = apiClock;
  return createWholesaleClient({
    baseUrl,
    shopUrl,
    wire: readWire(wire),
    timeouts,
    clock,
    version,
    answerTimes,
    ca: ca ?? undefined,
  });
}

export async function buildSubmission(
  deps: WorkerDeps,
  store: Store,
  wholesale: WholesaleClient,
  apiClock: ApiClock,
  current: CurrentConfig,
): Promise<SubmissionParts> {
  const { config, clock, random } = deps;
  const { keys, limits } = config.wholesale;
  const { retryTimeScale } = config.submit;
  const logger = deps.logger.child({ component: 'submit' });
  // A key that has another name now keeps the slots that it used under the old one.
  await store.adoptKeys({ keys, nowMs: clock.wallMs(), whileRunning: false });
  const names = keys.map(({ name }) => name);
  const steps = new BuyingSteps(store.outbox);
  const shared = { store, steps, wholesale, apiClock, clock, random, logger, limits };
  return {
    ...shared,
    gate: new BudgetGate(names, limits, clock),
    lookups: new LookupCheck(steps),
    accounts: new AccountCheck(),
    pauses: new Pauses({ ...shared, retryTimeScale }),
    policy: { ...usualTries, ...config.submit },
    keyValue: (name) =>
      current.config.wholesale.keys.find((key) => key.name === name)?.value ?? null,
  };
}

export function buildDispatcher(
  { config, metrics }: PartDeps,
  current: CurrentConfig,
  submission: SubmissionParts,
  rechecks: RecheckRule,
  onSettled: () => void,
): Dispatcher {
  const { concurrency, maxUnknownOutcomes } = config.submit;
  const minFreeBytes = (): number => current.config.disk.sendingMinFreeBytes;
  const options = {
    rechecks,
    concurrency,
    maxUnknownOutcomes,
    spending: config.spend,
    graceMs: stopGraceMs,
    minFreeBytes,
  };
  const onAttemptEnded = metrics.events.attemptEnded.bind(metrics.events);
  return new Dispatcher({ ...submission, onSettled, onAttemptEnded }, options);
}
