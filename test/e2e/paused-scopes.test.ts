import { describe, expect, it } from 'vitest';
import { echoes, neverDelivers } from '../support/fake-api/behaviours.ts';
import { WorkerWithFakeApi } from '../support/fake-api/worker-with-fake-api.ts';

describe('scopes that are paused', () => {
  it('are shown by health, status, explain and the orders that wait, with the reason', async () => {
    const world = await WorkerWithFakeApi.open({
      variants: { card: {}, odd: { behaviour: echoes({ variant: 'another' }) } },
      plans: { plan: { behaviour: neverDelivers } },
      balances: { USD: 1000, EUR: 3 },
    });
    await world.prove({ variant: 'card' });
    world.order('odd', 2, { variant: 'odd' });
    await world.untilPaused('variant:odd', 'answer_mismatch');
    world.order('later', 3, { variant: 'odd' });
    world.order('euros', 4, { variant: 'card', currency: 'EUR' });
    world.order('sims', 5, { plan: 'plan' });
    await world.untilPaused('balance:EUR', 'insufficient_balance');
    await world.untilPaused('family:esim', 'connector_unproven');

    const { status, text } = await world.health();
    const explained = await world.ask('queue', 'status', '--explain');
    expect(status).toBe('warn');
    for (const [scope, reason] of [
      ['variant:odd', 'answer_mismatch'],
      ['balance:EUR', 'insufficient_balance'],
      ['family:esim', 'connector_unproven'],
    ] as const) {
      for (const shown of [text, explained]) {
        expect(shown).toContain(scope);
        expect(shown).toContain(reason);
      }
    }
    for (const [id, scope] of [
      ['later-1', 'variant:odd'],
      ['euros-4', 'balance:EUR'],
      ['sims-5', 'family:esim'],
    ] as const) {
      expect(await world.ask('queue', 'status', '--explain', world.referenceOf(id))).toContain(
        scope,
      );
      expect(await world.ask('orders', 'show', id)).toContain(scope);
    }
  });

  // CI waits for it: this minute is not scaled.
  it('need attention at once where a family waits for its first delivered order', {
    timeout: 60_000,
  }, async () => {
    const world = await WorkerWithFakeApi.open({
      variants: { card: { behaviour: neverDelivers } },
    });
    world.order('cards', 5, { variant: 'card' });
    await world.untilPaused('family:gift_card', 'connector_unproven');
    await world.until(async () => {
      const { attention }: { attention: unknown[] } = JSON.parse(
        await world.ask('queue', 'status'),
      );
      return JSON.stringify(attention).includes('connector_unproven');
    }, 15_000);
    expect(world.states('cards')['placed']).toBe(2);
  });
});
