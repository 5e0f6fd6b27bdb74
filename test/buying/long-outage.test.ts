import SqliteDatabase from 'better-sqlite3';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withoutAnswer, type Outcome } from '../../src/core/answers/outcome.ts';
import { BudgetGate } from '../../src/buying/budget/budget-gate.ts';
import { Dispatcher } from '../../src/buying/dispatcher.ts';
import { Pauses } from '../../src/buying/breakers/pauses.ts';
import type { WholesalePort } from '../../src/wholesale/wholesale-port.ts';
import { attemptDeps } from '../support/attempt-deps.ts';
import { MachineClock } from '../support/machine-clock.ts';
import { line, Outbox } from '../support/outbox.ts';

const lines = Number(process.env['OUTAGE_LINES'] ?? 3000);
const hour = 3_600_000;
const accepted: Outcome = { ...withoutAnswer('accepted', true, ''), http: 200 };
const answer = {
  orderNumber: 'N-1',
  reference: null,
  status: 'completed',
  statusClass: 'done',
  cost: null,
  currency: null,
} as const;
const html = (row: Outcome['row']): Outcome => ({
  ...withoutAnswer(row, true, 'HTTP 503, text/html'),
  http: 503,
});

const outages = [
  {
    name: 'refuses every connection',
    outcome: withoutAnswer('unreachable', false, 'connect ECONNREFUSED'),
    tookMs: 1,
  },
  {
    name: 'is silent',
    outcome: withoutAnswer('headers_timeout', true, 'no answer within 30000 ms'),
    tookMs: 30_000,
  },
  { name: 'is replaced by a page of its proxy', outcome: html('foreign_unavailable'), tookMs: 20 },
];

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

function attemptRows(): number {
  const database = new SqliteDatabase(outbox.path, { readonly: true });
  try {
    return database.prepare<[], number>('SELECT count(*) FROM attempts').pluck().get() ?? 0;
  } finally {
    database.close();
  }
}

/**
 * A worker whose API can be out of order; every product differs, so that only the account can be
 * paused.
 */
async function startWorker(machine: MachineClock, outage: (typeof outages)[number]) {
  const api = { isDown: true, sent: 0 };
  const log: string[] = [];
  const call = async (): Promise<void> => {
    await machine.sleep(api.isDown ? outage.tookMs : 50);
  };
  const port: Partial<WholesalePort> = {
    submit: async () => {
      await call();
      api.sent += api.isDown ? 0 : 1;
      const units = [{ code: `CODE-${api.sent}` }];
      return api.isDown ? outage.outcome : { ...accepted, answer: { ...answer, units } };
    },
    lookUp: async () => {
      await call();
      return api.isDown ? { kind: 'failed', outcome: outage.outcome } : { kind: 'absent' };
    },
    probe: async () => {
      await call();
      return {
        outcome: api.isDown ? outage.outcome : accepted,
        verdict: api.isDown ? 'closed' : 'open',
      };
    },
  };
  const { store } = outbox;
  const deps = attemptDeps(store, port);
  const logger = pino({ level: 'info' }, { write: (text: string) => void log.push(text) });
  const dispatcher = new Dispatcher(
    {
      ...deps,
      clock: machine,
      logger,
      gate: new BudgetGate(['main'], deps.limits, machine),
      pauses: new Pauses({ store, clock: machine, random: () => 0.5, retryTimeScale: 1, logger }),
      policy: { ...deps.policy, inFlightWindowMs: 120_000, placedDeadlineMs: 24 * hour },
    },
    { concurrency: 8, maxUnknownOutcomes: 8, graceMs: 10 },
  );
  await dispatcher.start();
  return { api, log, dispatcher };
}

describe(`an API that is out of order for 10 hours, with ${lines} lines to buy`, () => {
  it.each(outages)(
    'and $name costs few attempts and log lines, and is used again soon',
    async (outage) => {
      const machine = new MachineClock();
      for (let from = 0; from < lines; from += 1000) {
        const batch = Array.from({ length: Math.min(1000, lines - from) }, (_, index) =>
          line({ orderId: `o${from + index}`, variant: `card-${(from + index) % 50}` }),
        );
        await outbox.accept(batch, null, machine.wallMs());
      }
      const { api, log, dispatcher } = await startWorker(machine, outage);
      await machine.passUntil(() => false, 10 * hour, 5000);
      const [pause, ...others] = await outbox.store.pauses.all();
      expect(pause).toMatchObject({ scope: 'account', reason: 'api_unreachable' });
      expect(others).toEqual([]);
      expect(attemptRows()).toBeLessThan(100);
      expect(log.length).toBeLessThan(300);
      api.isDown = false;
      const resumedMs = await machine.passUntil(() => api.sent > 0, hour);
      expect(resumedMs).toBeLessThanOrEqual(60_000);
      expect(await outbox.store.pauses.all()).toEqual([]);
      const stopped = dispatcher.stop();
      machine.pass(60_000);
      await stopped;
    },
  );
});
