import { expect, it } from 'vitest';
import { places, watch, type Fault, type Named, type Place } from './watch.ts';
import { spoiltWorlds } from './worlds.ts';

const limitMs = 60_000;
/** The probes of an outage end it before this time. */
const laterLimitMs = 130_000;

const limitOf = ({ isLater }: Fault, place: Place): number =>
  place === 'alert' && isLater === true ? laterLimitMs : limitMs;

const text = ({ what }: Fault, named: Named): string =>
  `${what}: ${places.map((place) => `${place} ${named[place] === undefined ? '-' : Math.round(named[place] / 1000)}`).join(', ')}`;

it('faults of products, keys, balances, sinks, disks, clocks, shops and mappings are named with cause and first action', {
  timeout: 600_000,
}, async () => {
  const watched: Promise<readonly (readonly [Fault, Named])[]>[] = [];
  // One after the other: a machine that starts twenty workers at once is slow.
  for (const { faults, start } of spoiltWorlds) {
    const running = await start();
    const watching = async () => {
      await running.spoil();
      return [...(await watch(running, faults, laterLimitMs))];
    };
    watched.push(watching());
  }
  const found = (await Promise.all(watched)).flat();
  const late = found.filter(([fault, named]) =>
    places.some((place) => (named[place] ?? Number.POSITIVE_INFINITY) > limitOf(fault, place)),
  );
  expect(found.length).toBeGreaterThanOrEqual(60);
  expect(late.map(([fault, named]) => text(fault, named))).toEqual([]);
});
