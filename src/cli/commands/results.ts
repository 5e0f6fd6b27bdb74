import type { Command } from 'commander';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { addConfigOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { sendCommand } from '../worker-client.ts';

interface RewriteOptions extends ConfigOptions {
  readonly source?: string;
  readonly order?: string;
  readonly all?: boolean;
  readonly json?: boolean;
}

export function addResults(program: Command, context: CliContext): void {
  const results = program.command('results').description('what was written back to the shop');
  const rewrite = results
    .command('rewrite')
    .description('have results written again, with the same content; nothing is bought')
    .option('--source <source>', 'of this shop')
    .option('--order <order>', 'of this order')
    .option('--all', 'of all orders')
    .option('--json', 'print JSON');
  addConfigOptions(rewrite).action(async (options: RewriteOptions) => {
    const { source, order } = options;
    const named = source !== undefined || order !== undefined;
    if (named === (options.all === true)) {
      throw new OrderSyncError('USAGE', 'Say which results: --source and --order, or --all', {
        hint: 'for one order: order-sync results rewrite --source shop1 --order 1001',
      });
    }
    const { config } = configFrom(options);
    const command = { action: 'rewrite_results', source: source ?? null, orderId: order ?? null } as const;
    const result = await sendCommand(config, command, context);
    const count = result.kind === 'results' ? result.due : 0;
    if (count === 0) {
      throw new OrderSyncError('NOT_FOUND', 'No such order has a result', {
        hint: 'look for it with `order-sync orders list --search`',
      });
    }
    if (options.json) context.stdout.write(`${JSON.stringify({ results_due: count })}\n`);
    else context.stdout.write(`${count} ${count === 1 ? 'result' : 'results'} will be written again by the worker\n`);
  });
}
