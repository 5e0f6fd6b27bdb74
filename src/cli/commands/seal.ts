import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { sealKeyBytes } from '../../core/sealing/seal-keys.ts';
import { addAnswerOptions, configFrom, withReader, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../errors.ts';
import { plainLines, writeAnswer, writeNotes } from '../output.ts';
import { renderTable } from '../table.ts';
import { sendCommand } from '../worker-client.ts';

export function addSeal(program: Command, context: CliContext): void {
  const seal = program.command('seal');
  seal
    .command('new-key')
    .description('make a sealing key in a new file that only its owner can read')
    .argument('<file>', 'the file to make; an existing one is never replaced')
    .action((file: string) => {
      writeNewKey(file);
      context.stdout.write(`made ${file}\n`);
      context.stderr.write(
        `Keep a copy of ${file} outside the data volume: without it, the codes that it seals are lost. Then put it first into seal.keys, with a new id, and restart the worker.\n`,
      );
    });
  const rotate = seal
    .command('rotate')
    .description(
      'seal with the first key what is in clear or what another key has sealed; may be repeated at any time',
    );
  addAnswerOptions(rotate).action((options: ConfigOptions) => rotateSeals(options, context));
  const status = seal.command('status').description('show which keys sealed the codes in the database');
  addAnswerOptions(status).action(async (options: ConfigOptions) => {
    const report = await reportOf((await configFrom(options)).config, options);
    writeAnswer(context, options, report, statusText(report));
  });
}

function writeNewKey(path: string): void {
  try {
    const key = `${randomBytes(sealKeyBytes).toString('base64')}\n`;
    writeFileSync(path, key, { flag: 'wx', mode: 0o600, flush: true });
  } catch (cause) {
    const exists = cause instanceof Error && 'code' in cause && cause.code === 'EEXIST';
    throw new OrderSyncError('REFUSED', `${path} ${exists ? 'exists already' : 'cannot be written'}`, {
      hint: exists
        ? 'name another file: a key that has sealed anything must never be replaced'
        : 'make its folder, and make it writable for this user',
      cause,
    });
  }
}

/** Each command seals a part, so a running worker does its other work between two, and an interruption loses nothing. */
async function rotateSeals(options: ConfigOptions, context: CliContext): Promise<void> {
  const { config } = await configFrom(options);
  const [first] = config.seal.keys;
  if (first === undefined) {
    throw new OrderSyncError('REFUSED', 'There is no sealing key', {
      hint: 'make one with `order-sync seal new-key FILE`, put it into seal.keys, and restart the worker',
    });
  }
  const unreadable: string[] = [];
  for (let more = true; more; ) {
    const done = await sendCommand(config, { action: 'seal_again' }, 'sealed', context);
    if (done.sealsWith !== first.id) {
      const message = `The running worker seals with ${done.sealsWith ?? 'no key'}, not with ${first.id}`;
      throw new OrderSyncError('REFUSED', message, { hint: 'restart the worker: it reads seal.keys at its start' });
    }
    ({ more } = done);
    unreadable.push(...done.unreadable);
    if (more) writeNotes(context, options, [`${await leftOf(options, first.id)} entries are left`]);
  }
  if (unreadable.length > 0) context.setExitCode(exitCodes.problemsFound);
  const report = await reportOf(config, options);
  const damaged = unreadable.map((id) => `the codes of ${id} cannot be opened: they were damaged or moved`);
  writeAnswer(context, options, { ...report, unreadable }, `${statusText(report)}${plainLines(damaged)}`);
}

const usageOf = (options: ConfigOptions) => withReader(options, (reader) => reader.sealUsage());

async function leftOf(options: ConfigOptions, first: string): Promise<number> {
  const usage = await usageOf(options);
  return usage.filter(({ key }) => key !== first).reduce((sum, { entries }) => sum + entries, 0);
}

async function reportOf({ seal }: Config, options: ConfigOptions) {
  const usage = await usageOf(options);
  const ids = seal.keys.map(({ id }) => id);
  const used = usage.flatMap(({ key }) => key ?? []);
  const countOf = (key: string | null): number => usage.find((it) => it.key === key)?.entries ?? 0;
  const keys = [...new Set([...ids, ...used])].map((id) => {
    return { id, configured: ids.includes(id), entries: countOf(id) };
  });
  // Without a key that seals, codes are stored in clear.
  return { seals_with: ids[0] ?? null, in_clear: countOf(null), keys };
}

function statusText({ seals_with: first, in_clear: inClear, keys }: Awaited<ReturnType<typeof reportOf>>): string {
  const rows = keys.map(({ id, configured: is, entries }) => [id, String(entries), meaningOf(id, is, entries, first)]);
  const sealer = first === null ? 'there is no sealing key' : 'sealed by the running worker, or by `seal rotate`';
  if (inClear > 0) rows.push(['(in clear)', String(inClear), sealer]);
  const table = renderTable(['KEY', 'ENTRIES', ''], rows);
  return first === null ? `Codes are stored in clear: there is no sealing key. See docs/sealing.md\n${table}` : table;
}

function meaningOf(id: string, isConfigured: boolean, entries: number, first: string | null): string {
  if (!isConfigured) return 'missing in seal.keys: the worker does not start without it';
  if (id === first) return 'seals';
  return entries === 0 ? 'not used any more: it may leave seal.keys' : 'opens, until it is rotated';
}
