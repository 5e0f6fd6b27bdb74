import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { sandboxConfigSchema } from '../../src/sandbox/config.ts';
import { faultSchema } from '../../src/sandbox/fault-rules.ts';
import { runSandbox } from '../../src/sandbox/run-sandbox.ts';
import { callerOf, giftCard, refusalOf, temporaryFolder } from './running-sandbox.ts';

const document = readFileSync(new URL('../../docs/sandbox.md', import.meta.url), 'utf8');
const settings = z.record(z.string(), z.unknown()).parse(parse(/```yaml\n([\s\S]*?)```/.exec(document)?.[1] ?? ''));

/** `limits.window_ms` and the like, for every setting that a schema knows. */
function namesIn(value: unknown, prefix = ''): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [prefix];
  return Object.entries(value).flatMap(([name, inner]) => namesIn(inner, prefix === '' ? name : `${prefix}.${name}`));
}

describe('docs/sandbox.md', () => {
  it('shows every setting, with its true default', () => {
    const defaults = sandboxConfigSchema.parse({});
    const shown = sandboxConfigSchema.parse(settings);
    expect(Object.keys(sandboxConfigSchema.shape).filter((name) => !(name in settings))).toEqual([]);
    expect(
      namesIn({ ...defaults, accounts: null }).filter((name) => !namesIn({ ...shown, accounts: null }).includes(name)),
    ).toEqual([]);
    const { listen, database, seed, catalogue, admin_token, outbox, accounts, ...rest } = shown;
    expect([listen, database, seed, catalogue, admin_token, outbox].every((value) => value !== undefined)).toBe(true);
    expect(rest).toEqual({
      ...rest,
      ...Object.fromEntries(Object.entries(defaults).filter(([name]) => name !== 'accounts')),
    });
    expect(accounts.map(({ phone: _phone, ...account }) => account)).toEqual(defaults.accounts);
  });

  it('names every fault', () => {
    const faults = faultSchema.options.map((option) => option.shape.fault.value);
    expect(faults.filter((fault) => !document.includes(`| \`${fault}\` |`))).toEqual([]);
  });
});

describe('the sandbox as a service', () => {
  it('starts from a file, alone or as the `sandbox` section of a larger one, and obeys the command line', async () => {
    const folder = temporaryFolder();
    const alone = join(folder, 'alone.yaml');
    const combined = join(folder, 'combined.yaml');
    writeFileSync(alone, 'listen: 127.0.0.1:0\ndatabase: a.db\nmaintenance: true\n');
    writeFileSync(combined, 'instance: shop\nsandbox:\n  listen: 127.0.0.1:0\n  database: b.db\n');
    const first = await runSandbox({ configFile: alone });
    onTestFinished(() => first.close());
    expect(refusalOf(await callerOf(first).get('/products'))).toBe('503 api_disabled');
    const second = await runSandbox({ configFile: combined });
    expect((await callerOf(second).post('/orders', giftCard('a'))).status).toBe(201);
    await second.close();
    const again = await runSandbox({ configFile: combined });
    expect(again.ledger().orders).toHaveLength(1);
    await again.close();
    const emptied = await runSandbox({ configFile: combined, reset: true, database: join(folder, 'b.db'), seed: 9 });
    onTestFinished(() => emptied.close());
    expect(emptied.ledger().orders).toEqual([]);
  });

  it('refuses a file with a mistake, naming the setting', async () => {
    const file = join(temporaryFolder(), 'wrong.yaml');
    writeFileSync(file, 'sandbox: { limits: { windows_ms: 1 } }');
    await expect(runSandbox({ configFile: file })).rejects.toThrow(/windows_ms/);
  });
});
