import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { AcceptableLine } from '../../../src/core/order/order-request.ts';
import { openStore } from '../../../src/store/store.ts';
import { Dispatcher } from '../../../src/submit/dispatcher.ts';
import { BudgetGate } from '../../../src/submit/budget-gate.ts';
import { Pauses } from '../../../src/submit/pauses.ts';
import { createWholesaleClient } from '../../../src/wholesale/client.ts';
import { attemptDeps } from '../../support/attempt-deps.ts';
import { line } from '../../support/outbox.ts';
import { behaviours, ShapeServer, type Behaviour, type SoldOrder } from './shape-server.ts';
import { otherShapes, wholeShapes, type Shape } from './shapes.ts';

interface Row {
  readonly orderId: string;
  readonly state: string;
  readonly reference: string;
  readonly orderNumber: string | null;
  readonly cost: string | null;
  readonly units: string | null;
  readonly kept: string;
}

const rowsSql = `SELECT r.order_id AS orderId, e.state, e.reference, e.order_number AS orderNumber, e.cost, e.units
  FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id`;

/** The sending part of a worker, and an API of this shape. */
async function world(shape: Shape) {
  const server = new ShapeServer(shape.switches);
  const baseUrl = await server.open();
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-shape-'));
  const path = join(folder, 'order-sync.db');
  const namespace = { instance: 'test', prefix: 'os', secret: Buffer.alloc(32, 7) };
  const store = openStore({ path, init: 'if-missing', namespace, upstream: 'sandbox', sinks: [] });
  const incarnationId = await store.beginIncarnation({ bootId: null, version: '0', nowMs: Date.now() });
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
      policy: { ...deps.policy, retryTimeScale, settlementDelayMs: 300, placedDeadlineMs: 60_000, cancelTries: 3 },
    },
    { incarnationId, graceMs: 1000, concurrency: 8, maxUnknownOutcomes: 8 },
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
      { ...common, orderId: `card-${behaviour}`, variant: shape.product(behaviour, 'card'), quantity },
      {
        ...common,
        orderId: `sim-${behaviour}`,
        operation: 'esim_order',
        variant: null,
        plan: shape.product(behaviour, 'sim'),
        quantity: behaviour === 'limit' ? quantity : 1,
      },
    ];
    await store.intake.acceptBatch({ nowMs: Date.now(), fileId: null, lines: lines.map(line), rejections: [] });
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
const behaviourIn = ({ orderId }: Row): Behaviour => behaviours.find((name) => orderId.endsWith(name)) ?? 'bad';
const isWanted = (row: Row): boolean => wanted[behaviourIn(row)].includes(row.state);

async function until(holds: () => boolean, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!holds() && performance.now() < deadline) await delay(25);
}

/** What was delivered of an order, against what was sold; empty: all of it is right. */
function wrongOf(row: Row, shape: Shape, sold: readonly SoldOrder[]): readonly string[] {
  const own = sold.filter(({ reference }) => reference === row.reference);
  if (row.state !== 'fulfilled') return own.length > 0 ? [`${row.orderId} was sold and is ${row.state}`] : [];
  const [order] = own;
  if (order === undefined || own.length > 1) return [`${row.orderId} was sold ${own.length} times`];
  const units: Record<string, string>[] = JSON.parse(row.units ?? '[]');
  const wrong = order.units.filter(
    ({ code, iccid, lpa }, index) =>
      units[index]?.['code'] !== code || units[index]?.['iccid'] !== iccid || units[index]?.['lpa'] !== lpa,
  );
  return [
    ...(wrong.length > 0 || units.length !== order.units.length ? [`the units of ${row.orderId}: ${row.units}`] : []),
    ...(row.cost === shape.cost(order) ? [] : [`the cost of ${row.orderId}: ${row.cost}`]),
    ...(row.orderNumber?.endsWith(String(order.number)) ? [] : [`the number of ${row.orderId}: ${row.orderNumber}`]),
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
    await until(() => rows().every(isWanted), 9000);
    expect(rows().map(({ orderId, state }) => `${orderId} ${state}`)).toEqual([
      'card-ok fulfilled',
      'sim-ok fulfilled',
    ]);
    for (const behaviour of behaviours) if (behaviour !== 'ok') await order(behaviour, behaviour === 'limit' ? 12 : 2);
    await until(() => rows().length === 16 && rows().every(isWanted), 14_000);
    expect(
      rows()
        .filter((row) => !isWanted(row))
        .map(({ orderId, state }) => `${orderId} ${state}`),
    ).toEqual([]);
    expect(rows().flatMap((row) => wrongOf(row, shape, server.orders))).toEqual([]);
    expect(server.orders).toHaveLength(8);
    expect(leaked(kept(), server.orders)).toEqual([]);
  });

  it.each(otherShapes)('that no mapping fits buys nothing wrong, and nothing twice: $name', async (shape) => {
    const { server, order, rows } = await world(shape);
    for (const behaviour of behaviours) await order(behaviour, 2);
    await until(() => rows().every(({ state }) => !['pending', 'sending'].includes(state)), 8000);
    expect(rows().flatMap((row) => (row.state === 'fulfilled' ? wrongOf(row, shape, server.orders) : []))).toEqual([]);
    expect(new Set(server.orders.map(({ reference }) => reference)).size).toBe(server.orders.length);
  });
});
