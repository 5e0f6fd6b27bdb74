import type { Command } from 'commander';
import { readReferenceSecret } from '../../config/reference-secret.ts';
import { hasCode, OrderSyncError } from '../../core/order-sync-error.ts';
import { openStore } from '../../store/sqlite-store.ts';
import { addConfigOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';

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
    const count = await redeliver(options, context.clock.wallMs());
    if (count === 0) {
      throw new OrderSyncError('NOT_FOUND', 'No such order has a result', {
        hint: 'look for it with `order-sync orders list --search`',
      });
    }
    if (options.json) context.stdout.write(`${JSON.stringify({ results_due: count })}\n`);
    else context.stdout.write(`${count} ${count === 1 ? 'result' : 'results'} will be written when the worker runs\n`);
  });
}

async function redeliver(options: RewriteOptions, nowMs: number): Promise<number> {
  const { instance, reference, wholesale, databasePath } = configFrom(options).config;
  const secret = readReferenceSecret(reference.secretFile, false);
  try {
    const store = openStore({
      path: databasePath,
      init: 'never',
      namespace: { instance, prefix: reference.prefix, secret },
      upstream: wholesale.upstream,
      sinks: ['folder'],
    });
    try {
      const filter = {
        ...(options.source === undefined ? {} : { source: options.source }),
        ...(options.order === undefined ? {} : { orderId: options.order }),
      };
      return await store.redeliver(filter, nowMs);
    } finally {
      await store.close();
    }
  } catch (error) {
    if (!hasCode(error, 'DATABASE_LOCKED')) throw error;
    throw new OrderSyncError(
      'DATABASE_LOCKED',
      'A running worker holds the outbox, and only one program writes to it',
      {
        hint: 'stop the worker, run this command, and start the worker again: it then writes the results',
        cause: error,
      },
    );
  }
}
