import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Installation } from '../support/worker-process.ts';
import { formsOf } from '../admin/actions/forms.ts';
import { send } from '../admin/pages/running-pages.ts';
import { cli } from './skus-check.ts';

const limits = { window_ms: 600_000, requests: 100, orders: 20, transit_ms: 50 };

const token = 'the-token-of-anna-0001';

async function open(): Promise<Installation> {
  const place = await Installation.open({ limits });
  onTestFinished(() => place.close());
  place.configure((config) => {
    config.admin.tokens = [{ name: 'anna', role: 'operator', value: token }];
  });
  return place;
}

const callsOf = (place: Installation) =>
  place.sandbox.ledger().calls.filter(({ operation }) => operation === 'topups');

/** What the button "Top-up plans" on the page of an order shows an operator. */
async function shownByPage(place: Installation, path: string): Promise<string> {
  const run = JSON.parse(readFileSync(join(place.folder, 'run.json'), 'utf8'));
  const ask = (at: string, asked: Parameters<typeof send>[2]) => send(run.admin_address, at, asked);
  const form = { token, return_to: '/' };
  const { cookie } = await ask('/sign-in', { method: 'POST', form });
  const headers = { cookie: cookie ?? '', 'sec-fetch-site': 'same-origin' };
  const page = await ask(path, { headers });
  const button = formsOf(page.text).find(({ title }) => title === 'Top-up plans');
  const asked = { method: 'POST', headers, form: button?.fields ?? {} };
  return (await ask('/actions', asked)).text;
}

describe('order-sync topups', () => {
  it('lists the top-up plans of an eSIM through the running worker, on its budget', async () => {
    const place = await open();
    const worker = place.start();
    await worker.started();
    const line = { line_id: '1', type: 'esim_order', plan: 'es-1gb-7d', quantity: 1 };
    const order = { order_id: '1', currency: 'USD', lines: [line] };
    place.drop('order.json', JSON.stringify(order));
    await worker.line(({ msg }) => msg === 'result delivered');
    const [found] = place.query<{ iccid: string }>('SELECT iccid FROM esims');
    const iccid = found?.iccid ?? '';
    const taken = () => place.query('SELECT 1 FROM budget_slots').length;
    const before = taken();
    const { code, stdout } = await cli(place, 'topups', iccid, '--json');
    const shown = JSON.parse(stdout);
    expect([code, shown.iccid, shown.plans.length > 0]).toEqual([0, iccid, true]);
    expect(shown.plans[0]).toMatchObject({ plan: expect.any(String), currencies: ['USD', 'EUR'] });
    expect([callsOf(place).length, taken() - before]).toEqual([1, 1]);
    expect((await cli(place, 'topups', iccid)).stdout).toContain(shown.plans[0].plan);
    expect(await shownByPage(place, '/orders/folder/1')).toContain(shown.plans[0].plan);
    expect(callsOf(place)).toHaveLength(3);
    await worker.end('SIGTERM');
  });

  it('says what the API answers about an eSIM that is not of this account, without a worker, too', async () => {
    const place = await open();
    await cli(place, 'init');
    const { code, stderr } = await cli(place, 'topups', '8944000000000000001');
    expect(code).toBe(6);
    expect(stderr).toContain('The top-ups of 8944000000000000001: ');
    expect(callsOf(place)).toHaveLength(1);
  });
});
