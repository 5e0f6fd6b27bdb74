import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Sqlite from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { readSandboxSection } from '../../src/cli/sandbox-section.ts';
import { sandboxConfigSchema } from '../settings/config.ts';
import { faultSchema } from '../settings/fault-rules.ts';
import { callerOf, giftCard, startSandbox, temporaryFolder } from './running-sandbox.ts';

const run = promisify(execFile);
const document = readFileSync(new URL('../../docs/sandbox.md', import.meta.url), 'utf8');
const settings = z
  .record(z.string(), z.unknown())
  .parse(parse(/```yaml\n(listen:[\s\S]*?)```/.exec(document)?.[1] ?? ''));

/** The dotted names of all settings in a value, such as `limits.window_ms`. */
function namesIn(value: unknown, prefix = ''): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [prefix];
  return Object.entries(value).flatMap(([name, inner]) =>
    namesIn(inner, prefix === '' ? name : `${prefix}.${name}`),
  );
}

describe('docs/sandbox.md', () => {
  it('the page shows every setting with its real default', () => {
    const defaults = sandboxConfigSchema.parse({});
    // The command line reads listen, database and seed; the sandbox reads the other settings.
    const { listen, database, seed, config } = readSandboxSection(settings, 'data/demo');
    const shown = sandboxConfigSchema.parse(config);
    expect(Object.keys(sandboxConfigSchema.shape).filter((name) => !(name in settings))).toEqual(
      [],
    );
    expect(
      namesIn({ ...defaults, accounts: null }).filter(
        (name) => !namesIn({ ...shown, accounts: null }).includes(name),
      ),
    ).toEqual([]);
    const { catalogue, admin_token, accounts, ...rest } = shown;
    expect([listen, database, seed]).toEqual(['127.0.0.1:8090', 'data/demo/sandbox.db', 1]);
    expect([catalogue, admin_token].every((value) => value !== undefined)).toBe(true);
    expect(rest).toEqual({
      ...rest,
      ...Object.fromEntries(Object.entries(defaults).filter(([name]) => name !== 'accounts')),
    });
    // The others are those of the test keys, which the page has in a list.
    expect(accounts).toEqual(defaults.accounts?.slice(0, 1));
  });

  it('the page lists every fault', () => {
    const faults = faultSchema.options.map((option) => option.shape.fault.value);
    expect(faults.filter((fault) => !document.includes(`\n- \`${fault}\``))).toEqual([]);
  });
});

/** The commands of the page; one can have several lines. */
function commandsOf(page: string): string[] {
  const blocks = [...page.matchAll(/```bash\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');
  return blocks.flatMap((block) =>
    block
      .replaceAll(/^#.*\n/gm, '')
      .split(/\n(?=order-sync|curl)/)
      .map((command) => command.trim()),
  );
}

describe('the commands of docs/sandbox.md', () => {
  it('the curl commands work against a sandbox, and the command line has the flags', async () => {
    const sandbox = await startSandbox();
    const commands = commandsOf(document);
    expect(commands).toHaveLength(3);
    const help = execFileSync(process.execPath, ['bin/order-sync.js', 'sandbox', '--help'], {
      encoding: 'utf8',
    });
    const [ours, others] = [true, false].map((own) =>
      commands.filter((text) => text.startsWith('order-sync sandbox') === own),
    );
    const flags = ours?.flatMap((command) => command.match(/--\w+/g) ?? []) ?? [];
    expect(flags.filter((flag) => !help.includes(flag))).toEqual([]);
    for (const command of others ?? []) {
      const { stdout } = await run('bash', [
        '-c',
        command.replaceAll('http://127.0.0.1:8090', sandbox.url),
      ]);
      expect(JSON.parse(stdout)).not.toHaveProperty('error');
    }
    expect(sandbox.ledger().orders).toHaveLength(1);
  });
});

describe('the start of a sandbox', () => {
  it('a sandbox continues with an existing database, or empties it first with `reset`', async () => {
    const database = join(temporaryFolder(), 'sandbox.db');
    const first = await startSandbox({}, { database });
    expect((await callerOf(first).post('/orders', giftCard('a'))).status).toBe(201);
    await first.close();
    const second = await startSandbox({}, { database });
    expect(second.ledger().orders).toHaveLength(1);
    await second.close();
    const third = await startSandbox({}, { database, reset: true });
    expect(third.ledger().orders).toEqual([]);
    expect((await callerOf(third).post('/orders', giftCard('a'))).status).toBe(201);
  });

  it('a sandbox does not start with an unknown setting, an invalid address or a database of another version', async () => {
    await expect(startSandbox({ limits: { windows_ms: 1 } } as object)).rejects.toThrow(
      /windows_ms/,
    );
    await expect(startSandbox({}, { listen: 'nowhere' })).rejects.toThrow(/listen is host:port/);
    const database = join(temporaryFolder(), 'sandbox.db');
    new Sqlite(database).pragma('user_version = 99');
    await expect(startSandbox({}, { database })).rejects.toThrow(
      /holds the tables of another program/,
    );
  });
});
