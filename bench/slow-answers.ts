import { stepsOf } from '../test/support/steps.ts';
import { join } from 'node:path';
import { pino } from 'pino';
import { withoutAnswer, type Outcome } from '../src/core/answers/outcome.ts';
import { usualTries } from '../src/buying/decision/settlement.ts';
import { openStore } from '../src/store/store.ts';
import { AccountCheck } from '../src/buying/proofs/account-check.ts';
import { BudgetGate } from '../src/buying/budget/budget-gate.ts';
import { Dispatcher } from '../src/buying/dispatcher.ts';
import { LookupCheck } from '../src/buying/proofs/lookup-check.ts';
import { Pauses } from '../src/buying/breakers/pauses.ts';
import { MachineClock } from '../test/support/machine-clock.ts';
import { withFolder } from './support/folder.ts';
import { giftCardLine } from './support/submission.ts';
import { goal, type Row } from './support/row.ts';

const keys = ['a', 'b', 'c', 'd', 'e'];
const windowMs = 60_000;
const ordersPerWindow = 20;
const answerMs = 10_000;
/** The default of the worker with five keys. */
const concurrency = 24;
const rounds = 20;

const random = (): number => 0.5;

/** How many orders are bought in the windows after the first one, when every answer takes 10 s. */
async function bought(folder: string): Promise<number> {
  const machine = new MachineClock();
  const logger = pino({ level: 'silent' });
  const store = openStore({
    path: join(folder, 'order-sync.db'),
    init: 'if-missing',
    namespace: { instance: 'bench', prefix: 'os', secret: Buffer.alloc(32, 5) },
    upstream: 'sandbox',
    sinks: [{ name: 'folder', sources: null }],
  });
  let count = 0;
  const submit = async (): Promise<Outcome> => {
    await machine.sleep(answerMs);
    count += 1;
    const answer = {
      orderNumber: `N-${count}`,
      reference: null,
      status: 'completed',
      statusClass: 'done',
      cost: null,
      currency: null,
      units: [{ code: `AAAA-${count}-BBBB` }],
    } as const;
    return { ...withoutAnswer('accepted', true, ''), http: 201, answer };
  };
  const limits = { windowMs, requests: 60, orders: ordersPerWindow, transitMs: 5000 };
  const dispatcher = new Dispatcher(
    {
      store,
      steps: stepsOf(store),
      wholesale: {
        render: () => ({ method: 'POST', path: '/orders', body: '{}' }),
        submit,
        canLookUp: () => true,
        lookupPath: () => '/orders/{key}',
        lookUp: async () => ({ kind: 'absent' }),
        probe: async () => ({ outcome: withoutAnswer('accepted', true, ''), verdict: 'open' }),
        connectorHash: () => 'bench',
      },
      gate: new BudgetGate(keys, limits, machine),
      lookups: new LookupCheck(stepsOf(store)),
      accounts: new AccountCheck(),
      pauses: new Pauses({ store, clock: machine, random, retryTimeScale: 1, logger }),
      clock: machine,
      random,
      logger,
      limits,
      policy: {
        inFlightWindowMs: 120_000,
        referenceExpiryMs: 86_400_000,
        placedDeadlineMs: 86_400_000,
        cancelTries: 3,
        ...usualTries,
        retryTimeScale: 1,
      },
      keyValue: (name) => name,
    },
    { concurrency, maxUnknownOutcomes: concurrency, graceMs: 10 },
  );
  const lines = Array.from({ length: keys.length * ordersPerWindow * (rounds + 2) }, (_, index) =>
    giftCardLine(`order ${index}`),
  );
  await store.intake.acceptBatch({ nowMs: machine.wallMs(), fileId: null, rejections: [], lines });
  await dispatcher.start();
  // The first window is the start: the product is not proven yet.
  await machine.passUntil(() => false, windowMs + answerMs);
  const before = count;
  await machine.passUntil(() => false, rounds * (windowMs + answerMs));
  const inRounds = count - before;
  const stopped = dispatcher.stop();
  machine.pass(answerMs);
  await stopped;
  await store.close();
  return inRounds;
}

/** On virtual time: the figure does not depend on the machine. */
export async function measure(): Promise<readonly Row[]> {
  const count = await withFolder((folder) => bought(folder));
  // A slot is held from the call until one window after its answer.
  const ceiling = keys.length * ordersPerWindow * rounds;
  const ratio = count / ceiling;
  return [
    {
      bench: 'slow-answers',
      what: `one product, five keys, answers that take ${answerMs / 1000} s, on virtual time`,
      result: `${count} of ${ceiling} orders in ${rounds} windows`,
      ratio: ratio.toFixed(3),
      goal: goal('0.99', ratio >= 0.99),
    },
  ];
}
