import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { DecisionPolicy } from '../../../src/buying/decision/settlement.ts';
import type { AcceptableLine } from '../../../src/core/order/order-request.ts';
import { openStore } from '../../../src/store/store.ts';
import { Dispatcher } from '../../../src/buying/dispatcher.ts';
import { BudgetGate } from '../../../src/buying/budget/budget-gate.ts';
import { Pauses } from '../../../src/buying/breakers/pauses.ts';
import { createWholesaleClient } from '../../../src/wholesale/client.ts';
import { attemptDeps } from '../../support/attempt-deps.ts';
import { line } from '../../support/outbox.ts';
import { behaviours, ShapeServer, type Behaviour, type SoldOrder } from './shape-server.ts';
import { brokenShapes, needsPrice, wholeShapes, type Shape } from './shapes.ts';

interface Row {
  readonly orderId: string;
  readonly state: string;
  readonly reference: string;
  readonly orderNumber: string | null;
  readonly cost: string | null;
  readonly units: string | null;
  /** What an operator reads about it. */
  readonly told: string;
}

const rowsSql = `SELECT r.order_id AS orderId, e.state, e.reference, e.order_number AS orderNumber, e.cost, e.units,
    concat_ws('; ', e.review_reason, e.error_message) AS told
  FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id`;

/** The sending part of a worker, and an API of this shape. */
async function world(shape: Shape, policy: Partial<DecisionPolicy> = {}) {
  const server = new ShapeServer(shape.switches);
  const baseUrl = await server.open();
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-shape-'));
  const path = join(folder, 'order-sync.db');
  const namespace = { instance: 'test', prefix: shape.prefix, secret: Buffer.alloc(32, 7) };
  const store = openStore({ path, init: 'if-missing', namespace, upstream: 'sandbox', sinks: [] });
  const client = createWholesaleClient({ baseUrl, wire: shape.wire, clock: { wallMs: Date.now } });
  const deps = attemptDeps(store, {});
  const { clock, logger, random } = deps;
  const retryTimeScale = 0.02;
  const limits = { windowMs: 1000, requests: 600, orders: 200, transitMs: 20 };
  const dispatcher = new Dispatcher(
    {
      ...deps,
      wholesale: client,
      limits,
      gate: new BudgetGate(['main'], limits, clock),
      pauses: new Pauses({ store, clock, random, retryTimeScale, logger }),
      policy: {
        ...deps.policy,
        retryTimeScale,
        inFlightWindowMs: 300,
        placedDeadlineMs: 60_000,
        cancelTries: 3,
        ...policy,
      },
    },
    { graceMs: 1000, concurrency: 8, maxUnknownOutcomes: 8 },
  );
  onTestFinished(async () => {
    await dispatcher.stop();
    await client.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await dispatcher.start();
  const all = <T>(sql: string): T[] => {
    const database = new SqliteDatabase(path, { readonly: true });
    try {
      return database.prepare<[], T>(sql).all();
    } finally {
      database.close();
    }
  };
  const order = async (behaviour: Behaviour, quantity: number): Promise<void> => {
    const common = { currency: shape.currency };
    const lines: Partial<AcceptableLine>[] = [
      {
        ...common,
        orderId: `card-${behaviour}`,
        variant: shape.product(behaviour, 'card'),
        quantity,
      },
      {
        ...common,
        orderId: `sim-${behaviour}`,
        operation: 'esim_order',
        variant: null,
        plan: shape.product(behaviour, 'sim'),
        quantity: behaviour === 'limit' ? quantity : 1,
      },
    ];
    await store.intake.acceptBatch({
      nowMs: Date.now(),
      fileId: null,
      lines: lines.map(line),
      rejections: [],
    });
    dispatcher.notify();
  };
  return {
    server,
    order,
    rows: () => all<Row>(rowsSql),
    kept: () => all<{ body: string }>('SELECT body FROM kept_answers'),
  };
}

const wanted: Readonly<Record<Behaviour, readonly string[]>> = {
  ok: ['fulfilled'],
  slow: ['fulfilled'],
  lost: ['fulfilled'],
  rate: ['fulfilled'],
  bad: ['rejected'],
  limit: ['rejected'],
  none: ['rejected', 'waiting'],
  poor: ['waiting'],
};
const behaviourIn = ({ orderId }: Row): Behaviour =>
  behaviours.find((name) => orderId.endsWith(name)) ?? 'bad';
/** Where no lookup can show what was not accepted, a rejection needs review. */
const isWanted = (row: Row, { wire }: Shape): boolean =>
  wanted[behaviourIn(row)].includes(row.state) ||
  (JSON.stringify(wire.lookup ?? {}).includes('"path":"off"') &&
    wanted[behaviourIn(row)].includes('rejected') &&
    row.state === 'needs_review');

async function until(holds: () => boolean, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!holds() && performance.now() < deadline) await delay(25);
}

/** What was delivered of an order, against what was sold; empty: all of it is right. */
function wrongOf(row: Row, shape: Shape, sold: readonly SoldOrder[]): readonly string[] {
  const own = sold.filter(({ reference }) => reference === row.reference);
  if (row.state !== 'fulfilled')
    return own.length > 0 ? [`${row.orderId} was sold and is ${row.state}`] : [];
  const [order] = own;
  if (order === undefined || own.length > 1) return [`${row.orderId} was sold ${own.length} times`];
  const units: Record<string, string>[] = JSON.parse(row.units ?? '[]');
  const wrong = order.units.filter(
    ({ code, pin, iccid, lpa }, index) =>
      units[index]?.['code'] !== code ||
      ![pin, undefined].includes(units[index]?.['pin']) ||
      units[index]?.['iccid'] !== iccid ||
      units[index]?.['lpa'] !== lpa,
  );
  return [
    ...(wrong.length > 0 || units.length !== order.units.length
      ? [`the units of ${row.orderId}: ${row.units}`]
      : []),
    ...(row.cost === shape.cost(order) ? [] : [`the cost of ${row.orderId}: ${row.cost}`]),
    ...(row.orderNumber?.endsWith(String(order.number))
      ? []
      : [`the number of ${row.orderId}: ${row.orderNumber}`]),
  ];
}

/** No part of a code is in an answer that is kept. */
const leaked = (kept: readonly { body: string }[], sold: readonly SoldOrder[]): readonly string[] =>
  sold
    .flatMap(({ units }) => units.flatMap(({ code, matching }) => code ?? matching ?? []))
    .filter((secret) => {
      return kept.some(({ body }) => body.includes(secret));
    });

describe('an API that the specification allows', () => {
  it.each(wholeShapes)('is served wholly by a mapping alone: $name', async (shape) => {
    const { server, order, rows, kept } = await world(shape);
    await order('ok', 2);
    await until(() => rows().every((row) => isWanted(row, shape)), 9000);
    expect(rows().map(({ orderId, state }) => `${orderId} ${state}`)).toEqual([
      'card-ok fulfilled',
      'sim-ok fulfilled',
    ]);
    for (const behaviour of behaviours)
      if (behaviour !== 'ok') await order(behaviour, behaviour === 'limit' ? 12 : 2);
    await until(() => rows().length === 16 && rows().every((row) => isWanted(row, shape)), 14_000);
    expect(
      rows()
        .filter((row) => !isWanted(row, shape))
        .map(({ orderId, state }) => `${orderId} ${state}`),
    ).toEqual([]);
    expect(rows().flatMap((row) => wrongOf(row, shape, server.orders))).toEqual([]);
    expect(server.orders).toHaveLength(8);
    expect(leaked(kept(), server.orders)).toEqual([]);
  });

  it('of the 40 of the review, 37 wholly', () => {
    expect([wholeShapes.length, brokenShapes.length]).toEqual([37, 2]);
  });

  it('that needs what no mapping can say refuses everything, and its words are told', async () => {
    const { server, order, rows } = await world(needsPrice);
    for (const behaviour of behaviours) await order(behaviour, 2);
    // Refusals of all products pause a family: what it has not sent yet waits.
    await until(() => rows().filter(({ state }) => state === 'needs_review').length >= 8, 8000);
    expect(
      rows().filter(
        ({ state }) => !['needs_review', 'pending', 'sending', 'unknown'].includes(state),
      ),
    ).toEqual([]);
    const refused = rows().filter(({ state }) => state === 'needs_review');
    expect(refused.filter(({ told }) => !told.includes('refused: invalid_request'))).toEqual([]);
    expect(server.orders).toEqual([]);
  });

  it.each(brokenShapes)(
    'and one that breaks it leads to a review with its words: $name',
    async (shape) => {
      const { server, order, rows } = await world(shape, { referenceExpiryMs: 2000 });
      await order('ok', 2);
      await until(() => rows().every((row) => isWanted(row, shape)), 9000);
      for (const behaviour of ['bad', 'none', 'poor'] as const) await order(behaviour, 2);
      await until(
        () => rows().every(({ state }) => ['fulfilled', 'needs_review'].includes(state)),
        20_000,
      );
      expect(rows().flatMap((row) => wrongOf(row, shape, server.orders))).toEqual([]);
      const refused = rows().filter((row) => behaviourIn(row) !== 'ok');
      expect(refused.map(({ state }) => state)).toEqual(refused.map(() => 'needs_review'));
      expect(refused.filter(({ told }) => !/refused: [a-z_]+/i.test(told))).toEqual([]);
      expect(server.orders).toHaveLength(2);
    },
  );
});
