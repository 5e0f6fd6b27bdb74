import type { Command } from 'commander';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { addAnswerOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { writeAnswer } from '../output.ts';
import { sendCommand } from '../worker-client.ts';

interface RewriteOptions extends ConfigOptions {
  readonly source?: string;
  readonly order?: string;
  readonly all?: boolean;
}

export function addResults(program: Command, context: CliContext): void {
  const results = program.command('results').description('the results that are written back to the shop');
  const rewrite = results
    .command('rewrite')
    .description('write results again, with the same content; nothing is bought')
    .option('--source <source>', 'of this shop')
    .option('--order <order>', 'of this order')
    .option('--all', 'of all orders');
  addAnswerOptions(rewrite).action(async (options: RewriteOptions) => {
    const { source = null, order = null } = options;
    const isOne = source !== null || order !== null;
    if (isOne === (options.all === true)) {
      throw new OrderSyncError('USAGE', 'Name the results: --source and --order, or --all', {
        hint: 'for one order: order-sync results rewrite --source shop1 --order 1001',
      });
    }
    const { config } = configFrom(options);
    const result = await sendCommand(config, { action: 'rewrite_results', source, orderId: order }, context);
    const due = result.kind === 'results' ? result.due : 0;
    if (due === 0) {
      throw new OrderSyncError('NOT_FOUND', 'No such order has a result', {
        hint: 'look for it with `order-sync orders list --search`',
      });
    }
    const text = `the worker will write ${due} ${due === 1 ? 'result' : 'results'} again\n`;
    writeAnswer(context.stdout, options.json, { results_due: due }, text);
  });
}
