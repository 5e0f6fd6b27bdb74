import { appendFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { sealKey } from '../support/seal-keys.ts';
import { knownInstallation } from './installation.ts';
import { fillOutbox } from './sample-outbox.ts';

it('shows which keys sealed what, and which are missing or not used any more', async () => {
  const place = knownInstallation();
  await fillOutbox(place, [sealKey('k1')]);
  const status = async () =>
    JSON.parse((await place.run('seal', 'rotate', '--dry-run', '--json')).stdout);
  expect(await status()).toEqual({
    seals_with: null,
    in_clear: 0,
    keys: [{ id: 'k1', configured: false, entries: 1 }],
  });
  const keys = ['k2', 'k1', 'k0'].map((id) => `{ id: ${id}, value: ${sealKey(id).value} }`);
  appendFileSync(place.configFile, `seal: { keys: [${keys.join(', ')}] }\n`);
  expect(await status()).toMatchObject({
    seals_with: 'k2',
    keys: [{ entries: 0 }, { entries: 1 }, { entries: 0 }],
  });
  const { stdout } = await place.run('seal', 'rotate', '--dry-run');
  expect(stdout.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['KEY', 'ENTRIES'],
    ['k2', '0', 'seals'],
    ['k1', '1', 'still decrypts, until `seal rotate`'],
    ['k0', '0', 'not used any more: can be removed from seal.keys'],
    [''],
  ]);
});

it('shows codes only with a reason, and the audit log says who saw them', async () => {
  const place = knownInstallation();
  appendFileSync(place.configFile, `seal: { keys: [{ id: k1, value: ${sealKey('k1').value} }] }\n`);
  await fillOutbox(place, [sealKey('k1')]);
  const masked = await place.run('orders', 'show', '1001');
  expect(masked.stdout).not.toContain('Delivered');
  expect(await place.run('orders', 'show', '1001', '--reveal')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--reveal needs a reason'),
  });
  const shown = await place.run(
    'orders',
    'show',
    '1001',
    '--reveal',
    '--reason',
    'the customer lost the mail',
  );
  expect(shown).toMatchObject({ code: 0, stderr: '' });
  const lines = shown.stdout.slice(shown.stdout.indexOf('Delivered')).split('\n');
  expect(lines[1]).toMatch(/^ {2}os-\w+ {2}Code: \S+/);
  const code = / Code: (\S+)/.exec(lines[1] ?? '')?.[1] ?? '';
  expect(masked.stdout).not.toContain(code);
  const reason = ['--reveal', '--reason', 'again', '--json'];
  const json = JSON.parse((await place.run('orders', 'show', '1001', ...reason)).stdout);
  expect(JSON.stringify(json.units)).toContain(code);
  expect(
    json.audit.filter(({ action }: { action: string }) => action === 'read_codes'),
  ).toHaveLength(1);
  const after = await place.run('orders', 'show', '1001');
  expect(after.stdout).toMatch(/read_codes os-\w+: the customer lost the mail/);
  expect(after.stdout).not.toContain(code);
});
