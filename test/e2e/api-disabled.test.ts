import { describe, expect, it } from 'vitest';
import { page, type Answer } from '../support/fake-api/answers.ts';
import { answersLookups, type LookupAnswer } from '../support/fake-api/fake-api.ts';
import { WorkerWithFakeApi } from '../support/fake-api/worker-with-fake-api.ts';

const large: Answer = {
  http: 200,
  body: { products: Array.from({ length: 1500 }, () => ({ variant: 'card', text: 'x'.repeat(1000) })) },
};
const behindProxy: LookupAnswer = () => page(404);

interface Case {
  readonly lookups: LookupAnswer;
  readonly catalogue: Answer;
}

const cases: readonly [string, Case][] = [
  ['with a catalogue of more than 1 MiB', { lookups: answersLookups, catalogue: large }],
  ['with such a catalogue, where a proxy answers lookups', { lookups: behindProxy, catalogue: large }],
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
    const probes = (): number => api.log.count((call) => call.http === 503 && call.kind !== 'order');
    await api.until(() => probes() > 0);
    expect((await world.health()).status).toBe('warn');
    api.condition = 'open';
    await world.untilState('card', 'fulfilled', 5, 12_000);
    expect(await world.pauses()).toEqual([]);
  });

  it('is asked for an order that it never sold, not for its catalogue', async () => {
    const world = await WorkerWithFakeApi.open({});
    const { api } = world;
    await world.prove({ variant: 'card' });
    api.condition = 'disabled';
    world.order('card', 1, { variant: 'card' });
    await world.untilPaused('account', 'api_disabled');
    api.condition = 'open';
    await world.untilState('card', 'fulfilled', 1, 12_000);
    const asked = api.log.all.filter((call) => call.kind !== 'order').map((call) => call.kind);
    expect(new Set(asked)).toEqual(new Set(['lookup']));
    const references = world.installation.query<{ reference: string }>('SELECT reference FROM outbox');
    const probe = api.log.all.findLast((call) => call.kind === 'lookup');
    expect(references.map((row) => row.reference)).not.toContain(probe?.reference);
  });
});
