import { Argument, type Command, Option } from 'commander';
import type { CommandResult, StoreCommand } from '../../core/entry/operator-command.ts';
import { iccidSchema } from '../../core/order/order-request.ts';
import { resolutions, type Resolution } from '../../core/entry/operator-decision.ts';
import { hasCode, OrderSyncError } from '../../core/order-sync-error.ts';
import { addConfigOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../errors.ts';
import { cliActor, sendCommand } from '../worker-client.ts';
import { plainText } from '../output.ts';
import { withReader } from '../with-reader.ts';

interface ActionOptions extends ConfigOptions {
  readonly reason: string;
  readonly json?: boolean;
}

interface ResolveOptions extends ActionOptions {
  readonly as: Resolution;
  readonly orderNumber?: string;
  readonly iccid?: readonly string[];
  readonly note?: string;
}

/** How many entries one command may touch. */
const bulkLimit = 1000;

const descriptions = {
  hold: 'stop an entry until it is released',
  release: 'let a held entry go back to where it was',
  cancel: 'take back an entry for which nothing was charged',
} as const;

/** The commands by which people decide on single entries. */
export function addOrderActions(orders: Command, context: CliContext): void {
  for (const action of ['hold', 'release', 'cancel'] as const) {
    const command = orders.command(action).description(descriptions[action]).addArgument(referenceArgument());
    addReason(command).action(async (reference: string, options: ActionOptions) => {
      await actOnOne({ action, reference, actor: cliActor(), reason: options.reason }, options, context);
    });
  }
  addRetry(orders, context);
  addResolve(orders, context);
  addReorder(orders, context);
}

const referenceArgument = (): Argument => new Argument('<reference>', 'the reference of the entry');

function addReason(command: Command): Command {
  return addConfigOptions(
    command
      .requiredOption('--reason <text>', 'why, for the audit log; at least 3 characters')
      .option('--json', 'print JSON'),
  );
}

function addResolve(orders: Command, context: CliContext): void {
  const command = orders
    .command('resolve')
    .description('say what became of an entry that stands in front of a person')
    .addArgument(referenceArgument())
    .addOption(new Option('--as <end>', 'what became of it').choices(resolutions).makeOptionMandatory())
    .option('--order-number <number>', "the supplier's number of the order")
    .option('--iccid <iccid...>', 'the eSIMs that the order brought, so that a later cancel finds its order')
    .option('--note <text>', 'a sentence for the result that the shop gets');
  addReason(command).action(async (reference: string, options: ResolveOptions) => {
    const { as, orderNumber = null, note = null, reason } = options;
    const iccids = (options.iccid ?? []).map(checkedIccid);
    await actOnOne(
      { action: 'resolve', reference, as, orderNumber, iccids, note, actor: cliActor(), reason },
      options,
      context,
    );
  });
}

function checkedIccid(text: string): string {
  const iccid = iccidSchema.safeParse(text);
  if (iccid.success) return iccid.data;
  throw new OrderSyncError('USAGE', `--iccid "${text.slice(0, 40)}" ${iccid.error.issues[0]?.message ?? 'is none'}`, {
    hint: "copy it from the supplier's list",
  });
}

function addReorder(orders: Command, context: CliContext): void {
  const command = orders
    .command('reorder')
    .description('order anew, under a new reference, what was surely not bought')
    .addArgument(referenceArgument())
    .option('--confirm <reference>', 'the old reference once more: the new one can buy once more', '');
  addReason(command).action(async (reference: string, options: ActionOptions & { confirm: string }) => {
    const { confirm, reason } = options;
    await actOnOne({ action: 'reorder', reference, confirm, actor: cliActor(), reason }, options, context);
  });
}

function addRetry(orders: Command, context: CliContext): void {
  const command = orders
    .command('retry')
    .description('have an entry tried now, with the same reference')
    .addArgument(new Argument('[reference]', 'the reference of the entry'))
    .option('--attention', 'every entry that is in needs_review, instead of one')
    .option('--yes', 'with --attention: do it, after it was shown how many there are');
  addReason(command).action(
    async (reference: string | undefined, options: ActionOptions & { attention?: boolean; yes?: boolean }) => {
      if ((reference === undefined) === (options.attention !== true)) {
        throw new OrderSyncError('USAGE', 'Say which: a reference, or --attention', {
          hint: 'what stands in front of a person is shown by `order-sync queue status`',
        });
      }
      if (reference === undefined) return await retryAll(options, context);
      await actOnOne({ action: 'retry', reference, actor: cliActor(), reason: options.reason }, options, context);
    },
  );
}

async function actOnOne(command: StoreCommand, options: ActionOptions, context: CliContext): Promise<void> {
  const result = await sendCommand(configFrom(options).config, command, context);
  if (result.kind !== 'entry') return;
  context.stdout.write(options.json ? `${JSON.stringify(resultAsJson(result))}\n` : resultAsText(result));
}

async function retryAll(options: ActionOptions & { yes?: boolean }, context: CliContext): Promise<void> {
  const references = withReader(options, (reader) => reader.referencesIn('needs_review', bulkLimit + 1));
  const shown = references.length > bulkLimit ? `more than ${bulkLimit}` : String(references.length);
  if (options.yes !== true) {
    if (options.json)
      context.stdout.write(`${JSON.stringify({ would_retry: references.length, changed: [], refused: [] })}\n`);
    else context.stdout.write(`${shown} in needs_review would be tried again; do it with --yes\n`);
    return;
  }
  const { config } = configFrom(options);
  const changed: string[] = [];
  const refused: { reference: string; message: string }[] = [];
  for (const reference of references.slice(0, bulkLimit)) {
    try {
      await sendCommand(config, { action: 'retry', reference, actor: cliActor(), reason: options.reason }, context);
      changed.push(reference);
    } catch (error) {
      // Somebody else may have decided on it meanwhile; the others go on.
      if (!hasCode(error, 'REFUSED')) throw error;
      refused.push({ reference, message: error.message });
    }
  }
  if (refused.length > 0) context.setExitCode(exitCodes.refused);
  if (options.json) {
    context.stdout.write(`${JSON.stringify({ would_retry: references.length, changed, refused })}\n`);
    return;
  }
  context.stdout.write(`${changed.length} of ${shown} are tried again\n`);
  for (const { message } of refused) context.stderr.write(`refused: ${plainText(message)}\n`);
}

function resultAsJson(result: CommandResult & { kind: 'entry' }): Record<string, unknown> {
  const { reference, before, after, newReference } = result;
  return { reference, before, after, new_reference: newReference };
}

function resultAsText({ reference, before, after, newReference }: CommandResult & { kind: 'entry' }): string {
  if (newReference !== null) return `${reference} is ordered anew as ${newReference}\n`;
  return before === after ? `${reference} stays ${after}, and is due now\n` : `${reference}: ${before} -> ${after}\n`;
}
