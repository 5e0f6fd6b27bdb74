import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { complete, sellsAndShows } from '../support/fake-api/behaviours.ts';
import type { SoldOrder } from '../support/fake-api/ledger.ts';
import { WorkerWithFakeApi } from '../support/fake-api/worker-with-fake-api.ts';

interface Case {
  /** What the order shows, beside its number and its reference. */
  readonly shows: (order: SoldOrder) => Record<string, unknown>;
  readonly quantity?: number;
}

const identity = ({ number, reference }: SoldOrder): Record<string, unknown> => ({
  number,
  reference,
});
const codes =
  (...all: readonly unknown[]): Case['shows'] =>
  () => ({ codes: all });
const oneCode = (code: string): Record<string, string> => ({ code });

/** Accepted, and no unit that a customer could use: the worker asks again until there is one. */
const notYet: Readonly<Record<string, Case>> = {
  'its own product in a list of items': {
    shows: (order) => ({ status: 'pending', items: [{ code: order.product, quantity: 1 }] }),
  },
  'its own product as the code': { shows: (order) => ({ codes: [oneCode(order.product)] }) },
  'its reference as the code': { shows: (order) => ({ codes: [oneCode(order.reference)] }) },
  'its number as the code': { shows: (order) => ({ codes: [oneCode(order.number)] }) },
  'two placeholders': { shows: codes(oneCode('PENDING'), oneCode('PENDING')), quantity: 2 },
  'a serial number alone': { shows: codes({ code: null, serial: 'S1' }) },
  'its code, with a status that says not yet': {
    shows: (order) => ({ ...complete(order), status: 'pending' }),
  },
};

/** Something that a person must look at; the worker cannot find out what it means. */
const strange: Readonly<Record<string, Case>> = {
  'a code twice for one': { shows: codes(oneCode('AAAA-1111'), oneCode('AAAA-1111')) },
  'a code twice for two': { shows: codes(oneCode('BBBB-1111'), oneCode('BBBB-1111')), quantity: 2 },
  'two codes for one': { shows: codes(oneCode('CCCC-1111'), oneCode('CCCC-2222')) },
  '20,000 codes for one': {
    shows: codes(...Array.from({ length: 20_000 }, (_, index) => oneCode(`DDDD-${index}`))),
  },
};

const variantsOf = (cases: Readonly<Record<string, Case>>) =>
  Object.fromEntries(
    Object.values(cases).map(({ shows }, index) => [
      `card-${index}`,
      { behaviour: sellsAndShows((order) => ({ ...identity(order), ...shows(order) })) },
    ]),
  );

async function ordered(cases: Readonly<Record<string, Case>>): Promise<WorkerWithFakeApi> {
  const world = await WorkerWithFakeApi.open({ variants: { good: {}, ...variantsOf(cases) } });
  await world.prove({ variant: 'good' });
  Object.values(cases).forEach(({ quantity = 1 }, index) => {
    world.order(`case${index}`, 1, { variant: `card-${index}`, quantity });
  });
  return world;
}

const stateOf = (world: WorkerWithFakeApi, index: number): string =>
  Object.keys(world.states(`case${index}`))[0] ?? 'not there';

describe('an order that was accepted', () => {
  it('is not fulfilled by units that are none, and is fulfilled when the real ones come', async () => {
    const world = await ordered(notYet);
    const { api } = world;
    const all = Object.keys(notYet);
    const polls = (reference: string): number =>
      api.log.count((call) => call.kind === 'lookup' && call.reference === reference);
    const sold = () => api.ledger.orders.filter((order) => order.product !== 'good');
    // The answer and two polls said the same.
    await world.until(
      () => sold().length === all.length && sold().every((order) => polls(order.reference) >= 2),
    );
    const states = Object.fromEntries(all.map((name, index) => [name, stateOf(world, index)]));
    expect(states).toEqual(Object.fromEntries(all.map((name) => [name, 'placed'])));
    for (const order of sold()) order.show = complete;
    await world.until(() => all.every((_name, index) => stateOf(world, index) === 'fulfilled'));
    const result = (index: number): string =>
      readFileSync(join(world.installation.folder, `results/shop/case${index}-1.json`), 'utf8');
    await world.until(() => all.every((_name, index) => result(index).includes('CODE-N')));
    for (const order of sold()) {
      const index = Number(order.product.split('-')[1]);
      const units: unknown = JSON.parse(result(index)).lines[0].entries[0].units;
      expect(units).toEqual(complete(order)['codes']);
    }
  });

  it('needs review when its units are too many or repeated, and keeps them out of the log and the lists', async () => {
    const world = await ordered(strange);
    const all = Object.keys(strange);
    await world.until(() => all.every((_name, index) => stateOf(world, index) === 'needs_review'));
    const attention = await world.ask('queue', 'status');
    for (const index of all.keys()) expect(attention).toContain(`case${index}-1`);
    const shown = [
      attention,
      JSON.stringify(world.worker.log),
      ...(await Promise.all(all.map(ordersShow(world)))),
    ];
    for (const text of shown)
      for (const code of ['AAAA-', 'BBBB-', 'CCCC-', 'DDDD-']) expect(text).not.toContain(code);
    // Nothing of it was sent again.
    expect(world.api.ledger.orders).toHaveLength(all.length + 1);
    expect(world.api.log.count((call) => call.kind === 'order')).toBe(all.length + 1);
  });
});

const ordersShow = (world: WorkerWithFakeApi) => (_name: string, index: number) =>
  world.ask('orders', 'show', `case${index}-1`);
