import { appendFileSync } from 'node:fs';
import { pino } from 'pino';
import { expect, it, onTestFinished, vi } from 'vitest';
import { startWorker } from '../../src/app/start-worker.ts';
import { loadConfig } from '../../src/config/load.ts';
import { SystemClock, systemRandom } from '../../src/ops/system-clock.ts';
import { knownInstallation } from './installation.ts';

async function installed() {
  const place = knownInstallation();
  expect((await place.run('init')).code).toBe(0);
  const set = (...argv: string[]) => place.run('balance', 'set', ...argv);
  return { place, set };
}

it('order-sync balance set enters a balance, shows what is left, and writes who did it', async () => {
  const { place, set } = await installed();
  expect(await set('USD', '1200.00', '--dry-run')).toMatchObject({
    code: 0,
    stdout: 'no balance is known\n',
  });
  expect(await set('USD', '1200.00')).toMatchObject({
    code: 0,
    stdout: 'balance: 1200.00 USD are left\n',
  });
  expect(JSON.parse((await set('EUR', '0.5', '--json', '--reason', 'topped up')).stdout)).toEqual({
    balances: [
      { currency: 'EUR', left: '0.50', hours_left: null },
      { currency: 'USD', left: '1200.00', hours_left: null },
    ],
  });
  expect((await set('USD', '7', '--dry-run')).stdout).toContain('1200.00 USD');
  const { audit } = JSON.parse((await place.run('audit', 'list', '--json')).stdout);
  expect(audit).toMatchObject([
    { action: 'set_balance', subject: 'balance:EUR', reason: 'topped up' },
    { action: 'set_balance', subject: 'balance:USD', reason: 'the supplier shows it' },
  ]);
  const status = await place.run('queue', 'status');
  expect(status.stdout).toContain('balance: 0.50 EUR are left\nbalance: 1200.00 USD are left\n');
});

it.each([
  ['usd', '1200.00'],
  ['USD', '1.200,00'],
  ['USD', '1e3'],
])('order-sync balance set refuses %s %s', async (currency, amount) => {
  const { set } = await installed();
  const { code, stderr } = await set(currency, amount);
  expect([code, stderr]).toEqual([2, expect.stringContaining('such as "1200.00 USD"')]);
});

it('a running worker takes a balance, and looks by itself whether it is low', async () => {
  const { place, set } = await installed();
  await place.run('queue', 'pause', 'account', '--reason', 'nobody is called');
  await set('USD', '50.00');
  appendFileSync(place.configFile, 'spend: { balance_alerts: [100.00 USD] }\n');
  const worker = await startWorker({
    config: loadConfig({ file: place.configFile, environment: {} }).config,
    logger: pino({ level: 'silent' }),
    clock: new SystemClock(),
    random: systemRandom,
    version: '0',
    pid: process.pid,
  });
  onTestFinished(() => worker.stop());
  await vi.waitFor(() =>
    expect(worker.store.read.attention(9, { kind: 'money' })).toMatchObject([
      { reason: 'balance_low', scope: 'balance:USD', message: 'about 50 USD are left' },
    ]),
  );
  expect((await set('USD', '700.00')).stdout).toBe('balance: 700.00 USD are left\n');
});
