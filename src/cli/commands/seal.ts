import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { addAnswerOptions, configFrom, withReader, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../errors.ts';
import { plainLines, writeAnswer, writeNotes } from '../output.ts';
import { renderTable } from '../table.ts';
import { sendCommand } from '../worker-client.ts';

export function addSeal(program: Command, context: CliContext): void {
  const seal = program.command('seal');
  const rotate = seal
    .command('rotate')
    .description(
      'seal every code that is in clear, or that another key has sealed, with the first key; can be repeated at any time',
    )
    .option('--dry-run', 'only show which keys sealed the codes in the database');
  addAnswerOptions(rotate).action(async (options: ConfigOptions & { dryRun?: boolean }) => {
    if (options.dryRun !== true) return await rotateSeals(options, context);
    const report = await reportOf((await configFrom(options)).config, options);
    writeAnswer(context, options, report, statusText(report));
  });
}

/**
 * Each command seals a part, so a running worker does its other work between two, and an
 * interruption loses nothing.
 */
async function rotateSeals(options: ConfigOptions, context: CliContext): Promise<void> {
  const { config } = await configFrom(options);
  const [first] = config.seal.keys;
  if (first === undefined) {
    throw new OrderSyncError('NOT_ALLOWED', 'There is no sealing key', {
      hint: 'make a key with `openssl rand -base64 32`, put it into seal.keys, and restart the worker',
    });
  }
  const unreadable: string[] = [];
  for (let more = true; more; ) {
    const done = await sendCommand(config, { action: 'seal_again' }, 'sealed', context);
    if (done.sealsWith !== first.id) {
      const message = `The running worker seals with ${done.sealsWith ?? 'no key'}, not with ${first.id}`;
      throw new OrderSyncError('NOT_ALLOWED', message, {
        hint: 'restart the worker: it reads seal.keys at its start',
      });
    }
    ({ more } = done);
    unreadable.push(...done.unreadable);
    if (more) writeNotes(context, options, [`${await leftOf(options, first.id)} entries are left`]);
  }
  if (unreadable.length > 0) context.setExitCode(exitCodes.problemsFound);
  const report = await reportOf(config, options);
  const damaged = unreadable.map(
    (id) => `the codes of ${id} cannot be decrypted: they were damaged or moved`,
  );
  writeAnswer(
    context,
    options,
    { ...report, unreadable },
    `${statusText(report)}${plainLines(damaged)}`,
  );
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

function statusText({
  seals_with: first,
  in_clear: inClear,
  keys,
}: Awaited<ReturnType<typeof reportOf>>): string {
  const rows = keys.map(({ id, configured: is, entries }) => [
    id,
    String(entries),
    meaningOf(id, is, entries, first),
  ]);
  const sealer =
    first === null
      ? 'there is no sealing key'
      : 'sealed by the running worker, or by `seal rotate`';
  if (inClear > 0) rows.push(['(in clear)', String(inClear), sealer]);
  const table = renderTable(['KEY', 'ENTRIES', ''], rows);
  return first === null
    ? `Codes are stored in clear: there is no sealing key. See docs/sealing.md\n${table}`
    : table;
}

function meaningOf(
  id: string,
  isConfigured: boolean,
  entries: number,
  first: string | null,
): string {
  if (!isConfigured) return 'missing in seal.keys: the worker does not start without this key';
  if (id === first) return 'seals';
  return entries === 0
    ? 'not used any more: can be removed from seal.keys'
    : 'still decrypts, until `seal rotate`';
}
