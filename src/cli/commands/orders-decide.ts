import { Buffer, isUtf8 } from 'node:buffer';
import { type Command, Option } from 'commander';
import type { Unit } from '../../core/answers/order-answer.ts';
import {
  type BulkAction,
  bulkActions,
  type BulkFilter,
  mostInRun,
  type Resolution,
  resolutions,
  statesFor,
  type StoreCommand,
} from '../../core/operator/operator-command.ts';
import { affectedText } from '../../core/operator/affected.ts';
import { readEnteredUnits } from '../../core/operator/units-by-operator.ts';
import { iccidSchema } from '../../core/order/order-request.ts';
import { countsText } from '../../core/counts.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import {
  addBulk,
  addReason,
  type BulkForm,
  configFrom,
  type ConfigOptions,
  reasonToAct,
  withReader,
} from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { readInput } from '../input.ts';
import { plainLines, sayWhatTakesLong, writeAnswer, writeNotes } from '../output.ts';
import { cliActor, sendCommand } from '../worker-client.ts';
import {
  type BulkPreview,
  previewBulk,
  requireCount,
  runBulk,
  statesOf,
} from '../../admin/bulk-run.ts';
import type { EntryState } from '../../core/entry/states.ts';
import type { BulkResult } from '../../store/operator/entry-command.ts';
import { exitCodes } from '../errors.ts';
import { wholeNumber } from '../option-values.ts';

interface DecisionOptions extends ConfigOptions {
  readonly reason: string;
}

const descriptions = {
  hold: 'hold an entry until it is released',
  release: 'return a held entry to the state that it had before',
  cancel: 'cancel an entry for which nothing was charged',
  retry: 'retry an entry now, with the same reference',
  reorder: 'order again, under a new reference, a line that was certainly not bought',
} as const;

/**
 * The commands by which people decide on entries: on one, or where that is safe on all that a
 * filter finds.
 */
export function addOrderDecisions(orders: Command, context: CliContext): void {
  for (const action of bulkActions) {
    const command = orders
      .command(action)
      .description(descriptions[action])
      .argument('[reference]', 'the reference of the entry (required unless a filter is given)');
    addBulk(addBulkOptions(command, action), action === 'reorder').action(
      async (reference: string | undefined, options: BulkOptions) => {
        if (isBulk(reference, options) || reference === undefined)
          return await actOnMany(action, options, context);
        const who = audited({ reason: reasonToAct(asAct(options), true) ?? '' });
        if (action !== 'reorder')
          return await decide({ action, reference, ...who }, options, context);
        const { confirm = '' } = options;
        if (options.remap !== true)
          return await decide({ action, reference, confirm, ...who }, options, context);
        // It reads SKU maps: the other commands for orders need none.
        const { remap } = await import('./orders-remap.ts');
        return await remap(reference, { ...options, ...who, confirm }, context);
      },
    );
  }
  addResolve(orders, context);
}

const audited = ({ reason }: Pick<DecisionOptions, 'reason'>) => ({ actor: cliActor(), reason });

interface ResolveOptions extends DecisionOptions {
  readonly as?: Resolution;
  readonly same?: boolean;
  readonly another?: boolean;
  readonly give?: number;
  readonly orderNumber?: string;
  readonly iccid?: readonly string[];
  /** False: `--no-units`. */
  readonly units?: string | false;
  readonly note?: string;
}

function addResolve(orders: Command, context: CliContext): void {
  const command = orders
    .command('resolve')
    .description('settle an entry that needs review with what you found out')
    .argument('<reference>', 'the reference of the entry')
    .addOption(
      new Option('--as <end>', 'its final state (required, or --give)').choices(resolutions),
    )
    .option(
      '--give <pieces>',
      'how many of the bought pieces the customer gets',
      wholeNumber(1, 1_000_000),
    )
    .option('--order-number <number>', "the supplier's number of the order")
    .option(
      '--iccid <iccid...>',
      'the delivered eSIMs: a later cancel finds the order by their ICCIDs',
    )
    .option(
      '--units <file>',
      'the delivered units, one code per line or a JSON list; - is standard input',
    )
    .option(
      '--no-units',
      'if you do not know the units: the result asks the shop to deliver by hand; with --note, units that the API showed are erased',
    )
    .option('--note <text>', 'a sentence for the result that the shop gets');
  addReason(command).action(async (reference: string, options: ResolveOptions) => {
    const { as, give: pieces, orderNumber = null, note = null, iccid = [] } = options;
    if (pieces !== undefined && as === undefined) {
      return await decide(
        { action: 'give', reference, pieces, ...audited(options) },
        options,
        context,
      );
    }
    if (as === undefined || pieces !== undefined) {
      throw new OrderSyncError('USAGE', 'Say what you found: --as or --give', {
        hint: '--as settles an entry in needs_review; --give says how many of the bought pieces the customer gets',
      });
    }
    const given = {
      orderNumber,
      iccids: iccid.map(checkedIccid),
      units: await unitsOf(options),
      note,
    };
    await decide(
      { action: 'resolve', reference, as, ...given, ...audited(options) },
      options,
      context,
    );
  });
}

const mostBytes = 512 * 1024;

/**
 * Read from a file or standard input, because every user of the machine can see the arguments of a
 * command.
 */
async function unitsOf({ units: file }: ResolveOptions): Promise<Unit[] | undefined> {
  if (file === undefined || file === false) return file === false ? [] : undefined;
  const tooLarge = (): Error =>
    new OrderSyncError('USAGE', `${file} has more than ${mostBytes} bytes`);
  const bytes = Buffer.concat(await readInput(file, mostBytes, tooLarge));
  if (!isUtf8(bytes)) throw new OrderSyncError('USAGE', `${file} is not text in UTF-8`);
  return [...readEnteredUnits(new TextDecoder().decode(bytes))];
}

function checkedIccid(text: string): string {
  const iccid = iccidSchema.safeParse(text);
  if (iccid.success) return iccid.data;
  const problem = iccid.error.issues[0]?.message ?? 'is not an ICCID';
  throw new OrderSyncError('USAGE', `--iccid "${text.slice(0, 40)}" ${problem}`, {
    hint: "copy the order number from the supplier's list",
  });
}

async function decide(
  command: StoreCommand,
  options: ConfigOptions,
  context: CliContext,
): Promise<void> {
  const { config } = await configFrom(options);
  const { reference, before, after, newReference } = await sendCommand(
    config,
    command,
    'entry',
    context,
  );
  const change =
    before === after
      ? `${reference} stays ${after}, and is due now`
      : `${reference}: ${before} -> ${after}`;
  const text = newReference === null ? change : `${reference} is ordered again as ${newReference}`;
  writeAnswer(
    context,
    options,
    { reference, before, after, new_reference: newReference },
    `${text}\n`,
  );
}

interface BulkOptions extends BulkForm {
  readonly state?: EntryState;
  readonly source?: string;
  readonly code?: string;
  readonly product?: string;
  readonly confirm?: string;
  readonly remap?: boolean;
}

const shown = 10;
const participles = {
  retry: 'retried',
  hold: 'held',
  release: 'released',
  cancel: 'cancelled',
  reorder: 'ordered again',
} as const;

function addBulkOptions(command: Command, action: BulkAction): Command {
  command
    .addOption(
      new Option('--state <state>', 'instead of a reference: entries in this state').choices(
        statesFor(action),
      ),
    )
    .option('--source <source>', 'instead of a reference: entries of this shop')
    .option('--code <code>', 'instead of a reference: entries with this code')
    .option('--product <id>', 'instead of a reference: entries of this variant or plan');
  if (action !== 'reorder') return command;
  return command
    .option(
      '--confirm <text>',
      'confirms that the new references can buy again: type the old reference or, with a filter, how many entries match',
    )
    .option(
      '--remap',
      'order the product that the SKU map names now; without --confirm, show the old and the new request',
    );
}

/** @throws OrderSyncError USAGE when a reference and a filter are given, or neither */
function isBulk(
  reference: string | undefined,
  { state, source, code, product, remap, dryRun }: BulkOptions,
): boolean {
  const isFiltered = [state, source, code, product].some((it) => it !== undefined);
  // A corrected SKU map is compared line by line.
  const isEither = (reference !== undefined) !== isFiltered && !(isFiltered && remap === true);
  if (isEither && (isFiltered || dryRun !== true)) return isFiltered;
  const message =
    'Name an entry by its reference, or many by --state, --source, --code and --product (with --dry-run, nothing is changed)';
  throw new OrderSyncError('USAGE', message, {
    hint: '`order-sync queue status` shows what needs review',
  });
}

/** A repeated number says `--yes`. */
const asAct = (options: BulkOptions): BulkOptions =>
  options.confirm === undefined ? options : { ...options, yes: true };

/** Shows which entries a filter finds, and with `--yes` acts on them. */
async function actOnMany(
  order: BulkAction,
  options: BulkOptions,
  context: CliContext,
): Promise<void> {
  const reason = reasonToAct(asAct(options), false);
  const { state, source, code, product } = options;
  const which: BulkFilter = { state, source, code, product, untilMs: context.clock.wallMs() };
  const preview = await withReader(options, (reader) => {
    const known = reader.sources();
    if (source !== undefined && !known.includes(source))
      throw new OrderSyncError('NOT_FOUND', `No order comes from the source "${source}"`, {
        hint: `the sources of orders are ${known.join(', ')}`,
      });
    return previewBulk(reader, { order, which });
  });
  if (reason === null) return showPreview(order, preview, options, context);
  if (order === 'reorder') requireCount(preview, options.confirm ?? '');
  const { config } = await configFrom(options);
  const { references } = preview;
  sayWhatTakesLong(context, options, `${references.length} entries`);
  const { changed, refused } = await runBulk(
    { order, which, actor: cliActor(), reason },
    references,
    (command) => sendCommand(config, command, 'bulk', context),
  );
  showResult(order, { changed, refused }, preview, options, context);
}

function showPreview(
  order: BulkAction,
  preview: BulkPreview,
  options: BulkOptions,
  context: CliContext,
): void {
  const { matched, references, affects } = preview;
  const states = statesOf(preview);
  const first = references.slice(0, shown);
  const lines = [
    matched === 0
      ? 'no entries match'
      : `${matched} entries match (${countsText(states)}) and would be ${participles[order]}; do it with ${order === 'reorder' ? `--confirm ${references.length}` : '--yes'}`,
    ...(matched === 0 ? [] : [affectedText(affects, context.clock.wallMs())]),
    ...(matched > mostInRun
      ? [`one run takes ${mostInRun} of them: repeat the command for the others`]
      : []),
    ...(matched === 0
      ? []
      : [`The first ${first.length} of them:`, ...first.map((reference) => `  ${reference}`)]),
  ];
  writeAnswer(
    context,
    options,
    { action: order, matched, states, affects, first },
    plainLines(lines),
  );
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
  writeNotes(context, options, [
    ...notes,
    ...(left > 0 ? [`${left} are left: repeat the command for them`] : []),
  ]);
  const text = `${changed.length} of ${matched} are ${participles[order]}\n`;
  writeAnswer(context, options, { action: order, matched, changed, refused, left }, text);
}
