import type { Command } from 'commander';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { addAnswerOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { jsonFields, writeAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import { sendCommand } from '../worker-client.ts';

export function addTopups(program: Command, context: CliContext): void {
  const topups = program.command('topups').argument('<iccid>', 'the eSIM');
  addAnswerOptions(topups).action(async (iccid: string, options: ConfigOptions) => {
    const { config } = await configFrom(options);
    const asked = { variants: [], plans: [], iccid, withinMs: 60_000 };
    const command = { action: 'read_catalogue', ...asked } as const;
    const { plans, plansProblem } = await sendCommand(config, command, 'catalogue', context);
    if (plansProblem !== null)
      throw new OrderSyncError('UNREACHABLE', `The top-ups of ${iccid}: ${plansProblem}`);
    const rows = plans.map(({ plan, currencies }) => [plan, currencies.join(', ')]);
    const text = renderTable(['PLAN', 'CURRENCIES'], rows);
    writeAnswer(context, options, { iccid, plans: plans.map(jsonFields) }, text);
  });
}
