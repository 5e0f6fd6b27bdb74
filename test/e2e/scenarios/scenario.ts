import { expect, it } from 'vitest';
import type { FakeApiOptions } from '../../support/fake-api.ts';
import type { InstallationOptions } from '../../support/worker-process.ts';
import { WorkerWithFakeApi, type AskedLine } from '../../support/worker-with-fake-api.ts';

export type World = WorkerWithFakeApi;
/** One thing that is done or awaited; it throws if that is not so. */
export type Step = (world: World) => unknown;

/** A world, what is ordered in it, and what must come of that. */
export interface Scenario {
  /** A sentence. */
  readonly name: string;
  readonly api?: FakeApiOptions;
  readonly worker?: InstallationOptions;
  /** The wall clock of the worker is so far ahead at first. */
  readonly clockOffsetMs?: number;
  /** A path that `base_url` has too much. */
  readonly basePath?: string;
  /** A product that is bought before the steps, which proves the connector of its family. */
  readonly proven?: AskedLine | string;
  readonly steps: readonly Step[];
}

/** The one runner of all tables. */
export function play(what: string, scenarios: readonly Scenario[]): void {
  it.each(scenarios)(`${what} $name`, async ({ api = {}, worker, proven, steps, ...place }) => {
    const world = await WorkerWithFakeApi.open(api, worker, place);
    if (proven !== undefined)
      await world.prove(typeof proven === 'string' ? { variant: proven } : proven);
    for (const step of steps) await step(world);
    expect(world.api.limited).toBe(0);
  });
}

/** Hands over orders of one line each: of the variant of that name, if no other line is given. */
export const orders =
  (name: string, count: number, line: AskedLine = { variant: name }): Step =>
  (world) =>
    world.order(name, count, line);

/** Waits until so many orders of this name have this state. */
export const become =
  (name: string, state: string, count: number, timeoutMs?: number): Step =>
  (world) =>
    world.untilState(name, state, count, timeoutMs);

/** All orders of this name, by state, now. */
export const states =
  (name: string, expected: Readonly<Record<string, number>>): Step =>
  (world) =>
    expect(world.states(name)).toEqual(expected);

/** Waits until the scope is paused, for this reason if one is given. */
export const paused =
  (scope: string, reason?: string): Step =>
  (world) =>
    world.untilPaused(scope, reason);

/** What is paused now, as `scope: reason`. */
export const pauses =
  (...expected: readonly string[]): Step =>
  async (world) =>
    expect(await world.pauses()).toEqual(expected);

export const untilNothingIsPaused: Step = (world) =>
  world.until(async () => (await world.pauses()).length === 0);

export const health =
  (status: string): Step =>
  async (world) =>
    expect((await world.health()).status).toBe(status);

/** How many orders of each product the API has sold. */
export const sold =
  (expected: Readonly<Record<string, number>>): Step =>
  ({ api }) => {
    for (const [product, count] of Object.entries(expected))
      expect([product, api.sold(product)]).toEqual([product, count]);
  };

/** What the API has sold, in order, as `product quantity currency`. */
export const soldInOrder =
  (...expected: readonly string[]): Step =>
  ({ api }) =>
    expect(api.orders.map((one) => `${one.product} ${one.quantity} ${one.currency}`)).toEqual(
      expected,
    );

/** Waits until the API has sold so many orders. */
export const untilSold =
  (count: number): Step =>
  ({ api }) =>
    api.until(() => api.orders.length === count);

export const deposit =
  (currency: string, amount: number): Step =>
  ({ api }) =>
    api.deposit(currency, amount);

/** The product delivers from now on. */
export const heal =
  (product: string): Step =>
  ({ api }) =>
    api.behave(product);

/** Waits until the result of the order `<name>-1` says this. */
export const told =
  (name: string, state: string): Step =>
  async (world) => {
    const result = (): string | undefined =>
      world.installation.results().get(`shop/${name}-1`)?.state;
    await world.until(() => result() !== undefined && result() !== 'in_progress');
    expect([name, result()]).toEqual([name, state]);
  };

/** Waits until a lookup has found an order, so that an absence is believed. */
export const untilLookupsAreProven: Step = (world) =>
  world.until(() => world.api.count(({ kind, http }) => kind === 'lookup' && http === 200) > 0);
