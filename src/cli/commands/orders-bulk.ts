import { type Command, Option } from 'commander';
import { previewBulk, runBulk, statesOf, type BulkPreview } from '../../admin/bulk-run.ts';
import { mostInRun, statesFor, type BulkAction, type BulkFilter } from '../../core/operator/operator-command.ts';
import type { EntryState } from '../../core/entry/states.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import type { BulkResult } from '../../store/operator/entry-command.ts';
import { configFrom, withReader, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../errors.ts';
import { plainLines, sayWhatTakesLong, writeAnswer, writeNotes } from '../output.ts';
import { countsText } from '../table.ts';
import { cliActor, sendCommand } from '../worker-client.ts';

/** The options by which a command names many entries instead of one. */
export interface BulkOptions extends ConfigOptions {
  readonly state?: EntryState;
  readonly source?: string;
  readonly code?: string;
  readonly product?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly reason?: string;
}

/** How many references a preview shows. */
const shown = 10;
const participles = { retry: 'retried', hold: 'held', release: 'released', cancel: 'cancelled' } as const;

export function addBulkOptions(command: Command, action: BulkAction): Command {
  return command
    .addOption(
      new Option('--state <state>', 'instead of a reference: entries in this state').choices(statesFor(action)),
    )
    .option('--source <source>', 'instead of a reference: entries of this shop')
    .option('--code <code>', 'instead of a reference: entries with this code')
    .option('--product <id>', 'instead of a reference: entries of this variant or plan')
    .option('--dry-run', 'without a reference: only show how many there are')
    .option('--yes', 'without a reference: do it, after it showed how many there are');
}

/** @throws OrderSyncError USAGE when a reference and a filter are given, or neither */
export function isBulk(reference: string | undefined, { state, source, code, product }: BulkOptions): boolean {
  const isFiltered = [state, source, code, product].some((it) => it !== undefined);
  if ((reference !== undefined) !== isFiltered) return isFiltered;
  throw new OrderSyncError(
    'USAGE',
    'Name an entry by its reference, or many by --state, --source, --code and --product',
    {
      hint: '`order-sync queue status` shows what needs review',
    },
  );
}

/** The reason of a command; a preview needs none. */
export function reasonOf({ reason, dryRun, yes }: BulkOptions, isOne: boolean): string {
  if (reason === undefined && (isOne || (yes === true && dryRun !== true))) {
    throw new OrderSyncError('USAGE', 'Say why, for the audit log: --reason "…"', {
      hint: isOne ? 'at least 3 characters' : 'or look first, without --yes',
    });
  }
  return reason ?? '';
}

/** Shows which entries a filter finds, and with `--yes` acts on them. */
export async function actOnMany(order: BulkAction, options: BulkOptions, context: CliContext): Promise<void> {
  const reason = reasonOf(options, false);
  const { state, source, code, product } = options;
  const which: BulkFilter = { state, source, code, product, untilMs: context.clock.wallMs() };
  const preview = await withReader(options, (reader) => {
    const known = reader.sources();
    if (source !== undefined && !known.includes(source))
      throw new OrderSyncError('NOT_FOUND', `No order is of the source "${source}"`, {
        hint: `the sources of orders are ${known.join(', ')}`,
      });
    return previewBulk(reader, { order, which });
  });
  if (options.yes !== true || options.dryRun === true) return showPreview(order, preview, options, context);
  const { config } = await configFrom(options);
  const { references } = preview;
  sayWhatTakesLong(context, options, `${references.length} entries`);
  const { changed, refused } = await runBulk({ order, which, actor: cliActor(), reason }, references, (command) =>
    sendCommand(config, command, 'bulk', context),
  );
  showResult(order, { changed, refused }, preview, options, context);
}

function showPreview(order: BulkAction, preview: BulkPreview, options: BulkOptions, context: CliContext): void {
  const { matched, references } = preview;
  const states = statesOf(preview);
  const first = references.slice(0, shown);
  const lines = [
    matched === 0
      ? 'no entries fit'
      : `${matched} entries fit (${countsText(states)}) and would be ${participles[order]}; do it with --yes`,
    ...(matched > mostInRun ? [`one run takes ${mostInRun} of them: repeat it for the others`] : []),
    ...(matched === 0 ? [] : [`The first ${first.length} of them:`, ...first.map((reference) => `  ${reference}`)]),
  ];
  writeAnswer(context, options, { action: order, matched, states, first }, plainLines(lines));
}

function showResult(
  order: BulkAction,
  { changed, refused }: BulkResult,
  { matched }: BulkPreview,
  options: BulkOptions,
  context: CliContext,
): void {
  if (refused.length > 0) context.setExitCode(exitCodes.refused);
  const left = Math.max(0, matched - changed.length - refused.length);
  const notes = refused.map(({ message, hint }) => `refused: ${message}; ${hint}`);
  writeNotes(context, options, [...notes, ...(left > 0 ? [`${left} are left: repeat the command for them`] : [])]);
  const text = `${changed.length} of ${matched} are ${participles[order]}\n`;
  writeAnswer(context, options, { action: order, matched, changed, refused, left }, text);
}
