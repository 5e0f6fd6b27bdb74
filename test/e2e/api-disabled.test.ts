import { describe, expect, it } from 'vitest';
import { page, type Answer } from '../support/fake-api/answers.ts';
import { answersLookups, type LookupAnswer } from '../support/fake-api/fake-api.ts';
import { WorkerWithFakeApi } from '../support/fake-api/worker-with-fake-api.ts';

const large: Answer = {
  http: 200,
  body: {
    products: Array.from({ length: 1500 }, () => ({ variant: 'card', text: 'x'.repeat(1000) })),
  },
};
const behindProxy: LookupAnswer = () => page(404);

interface Case {
  readonly lookups: LookupAnswer;
  readonly catalogue: Answer;
}

const cases: readonly [string, Case][] = [
  ['with a catalogue of more than 1 MiB', { lookups: answersLookups, catalogue: large }],
  [
    'with such a catalogue, where a proxy answers lookups',
    { lookups: behindProxy, catalogue: large },
  ],
  [
    'where a proxy answers lookups and the catalogue',
    { lookups: behindProxy, catalogue: page(405) },
  ],
];

describe('an API that is switched off for a while', () => {
  it.each(cases)('is bought from again by itself, %s', async (_name, { lookups, catalogue }) => {
    const world = await WorkerWithFakeApi.open({});
    const { api } = world;
    await world.prove({ variant: 'card' });
    api.lookups = lookups;
    api.catalogue = catalogue;
    api.condition = 'disabled';
    world.order('card', 5, { variant: 'card' });
    await world.untilPaused('account', 'api_disabled');
    const probes = (): number =>
      api.log.count((call) => call.http === 503 && call.kind !== 'order');
    await api.until(() => probes() > 0);
    expect((await world.health()).status).toBe('warn');
    api.condition = 'open';
    // Where no probe can tell, the trial orders that failed have made the delay long.
    await world.untilState('card', 'fulfilled', 5);
    expect(await world.pauses()).toEqual([]);
    // It was asked for an order that it never sold, and for its catalogue only where that said
    // nothing.
    const rows = world.installation.query<{ reference: string }>('SELECT reference FROM outbox');
    const ours = rows.map((row) => row.reference);
    expect(
      api.log.all.some((call) => call.kind === 'lookup' && !ours.includes(call.reference ?? '')),
    ).toBe(true);
    expect(api.log.all.some((call) => call.kind === 'products')).toBe(lookups !== answersLookups);
  });
});
