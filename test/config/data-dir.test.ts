import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { dataDirOf } from '../../src/cli/config-options.ts';

/** Where the outbox is, of a file with this text. */
async function folderOf(
  text: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-data-dir-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'worker.yaml');
  writeFileSync(file, text);
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  try {
    return await dataDirOf({ config: file });
  } finally {
    vi.unstubAllEnvs();
  }
}

const valid = `instance: acme
wholesale: { base_url: https://api.example.com, keys: [{ name: main, value: file:/no/such/file }] }
`;

it('is found in the file, in a variable, or by default', async () => {
  expect(await folderOf('data_dir: orders')).toBe(resolve('orders'));
  expect(await folderOf('data_dir: orders', { ORDER_SYNC__DATA_DIR: '/srv/orders' })).toBe(
    '/srv/orders',
  );
  expect(await folderOf(valid)).toBe(resolve('data'));
});

it('is not looked for in the usual folder because of a mistake', async () => {
  await expect(folderOf(`${valid}data_dri: orders\n`)).rejects.toThrow('data_dri');
  await expect(
    folderOf('data_dir: orders', { ORDER_SYNC_DATA_DIR: '/srv/orders' }),
  ).rejects.toThrow('ORDER_SYNC_DATA_DIR');
  await expect(folderOf('data_dir: [1]')).rejects.toThrow('data_dir');
});
