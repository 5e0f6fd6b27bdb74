import type { Command } from 'commander';
import type { Redelivery, ResultOf } from '../../core/operator/operator-command.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { addBulk, type BulkForm, configFrom, reasonToAct, withReader } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { writeAnswer, sayWhatTakesLong } from '../output.ts';
import { timeOf } from '../option-values.ts';
import { cliActor, sendCommand } from '../worker-client.ts';

interface RewriteOptions extends BulkForm {
  readonly sink?: string;
  readonly source?: string;
  readonly order?: string;
  readonly since?: string;
  readonly until?: string;
  readonly givenUp?: boolean;
  readonly all?: boolean;
}

export function addResults(program: Command, context: CliContext): void {
  const results = program.command('results');
  const rewrite = results
    .command('rewrite')
    .description('write results again, with the same content; nothing is bought')
    .option(
      '--sink <sink>',
      'only for this sink, for example folder or callback:shop; default: for every sink',
    )
    .option('--source <source>', 'of this shop')
    .option('--order <order>', 'of this order')
    .option('--since <time>', 'only results last changed at this time (ISO 8601) or later')
    .option('--until <time>', 'only results last changed before this time (ISO 8601)')
    .option('--given-up', 'whose delivery was given up')
    .option('--all', 'of all orders');
  addBulk(rewrite).action(async (options: RewriteOptions) => {
    const which = whichOf(options);
    const reason = reasonToAct(options, options.order !== undefined);
    if (reason === null) return preview(which, options, context);
    await redeliver(which, reason, options, context);
  });
}

function whichOf({ sink, source, order, since, until, givenUp, all }: RewriteOptions): Redelivery {
  const [sinceMs, untilMs] = [timeOf('--since', since), timeOf('--until', until)];
  const which = { sink, source, orderId: order, sinceMs, untilMs, givenUp };
  const isFiltered = Object.values(which).some((value) => value !== undefined);
  if (isFiltered === (all === true)) {
    throw new OrderSyncError(
      'USAGE',
      'Name the results: --sink, --source, --order, a time, --given-up, or --all',
      {
        hint: 'for one order: order-sync results rewrite --source shop1 --order 1001 --reason "the shop lost it"',
      },
    );
  }
  return which;
}

async function preview(
  which: Redelivery,
  options: RewriteOptions,
  context: CliContext,
): Promise<void> {
  const count = await withReader(options, (reader) => reader.redeliveryCount(which));
  const text = `${count} ${count === 1 ? 'result' : 'results'} would be written again; do it with --yes\n`;
  writeAnswer(context, options, { would_rewrite: count }, text);
}

/** In steps, so that many results do not keep the worker from its work. */
async function redeliver(
  which: Redelivery,
  reason: string,
  options: RewriteOptions,
  context: CliContext,
): Promise<void> {
  const { config } = await configFrom(options);
  let due = 0;
  sayWhatTakesLong(context, options, 'the worker looks for the results');
  for (let afterId: number | null = 0; afterId !== null; ) {
    const command = {
      action: 'rewrite_results',
      which,
      afterId,
      actor: cliActor(),
      reason,
    } as const;
    const result: ResultOf<'results'> = await sendCommand(config, command, 'results', context);
    due += result.due;
    afterId = result.nextId;
  }
  if (due === 0) {
    throw new OrderSyncError('NOT_FOUND', 'No such order has a result', {
      hint: 'look for the order with `order-sync orders list --search`',
    });
  }
  const text = `the worker will write ${due} ${due === 1 ? 'result' : 'results'} again\n`;
  writeAnswer(context, options, { results_due: due }, text);
}
