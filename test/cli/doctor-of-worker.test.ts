import { describe, expect, it } from 'vitest';
import { refusal } from '../support/fake-api.ts';
import { order } from '../support/worker-process.ts';
import { apiFor, cli, doctor } from './doctor-checks.ts';

describe('order-sync doctor and a worker', () => {
  it('leaves the slots of its calls to the next worker', async () => {
    const limits = { window_ms: 60_000, requests: 60, orders: 20, transit_ms: 50 };
    const { place } = await apiFor({ limits });
    await cli(place, 'doctor');
    await cli(place, 'doctor');
    const worker = place.start();
    await worker.started();
    expect(place.query('SELECT key_name, limit_name FROM budget_slots')).toEqual(
      Array.from({ length: 4 }, () => ({ key_name: 'main', limit_name: 'requests' })),
    );
    await worker.end('SIGTERM');
  });

  it('needs no catalogue where a lookup has found an order', async () => {
    const { api, place } = await apiFor();
    const worker = place.start();
    place.drop(
      'first.ndjson',
      `${JSON.stringify({ ...JSON.parse(order(1)), lines: [{ ...JSON.parse(order(1)).lines[0], variant: 'card' }] })}\n`,
    );
    await worker.line(({ msg }) => msg.startsWith('lookups work'));
    await worker.end('SIGTERM');
    api.catalogue = refusal(404, 'not_found');
    expect((await doctor(place)).of('key:main').status).toBe('pass');
    expect(api.count(({ kind }) => kind === 'products')).toBe(0);
  });

  it('asks a running worker, which has the budget', async () => {
    const { api, place } = await apiFor();
    const worker = place.start();
    await worker.started();
    const { code, of } = await doctor(place);
    expect(code).toBe(0);
    expect(of('key:main').status).toBe('pass');
    expect(of('worker').message).toMatch(/^runs, at 127\.0\.0\.1:\d+$/);
    expect(api.count(({ kind }) => kind === 'lookup')).toBe(1);
    await worker.end('SIGTERM');
  });
});
