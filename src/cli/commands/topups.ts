import type { Command } from 'commander';
import { readTopups, topupsOf } from '../../core/operator/operator-command.ts';
import { addAnswerOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { jsonFields, writeAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import { sendCommand } from '../worker-client.ts';

export function addTopups(program: Command, context: CliContext): void {
  const topups = program.command('topups').argument('<iccid>', 'the eSIM');
  addAnswerOptions(topups).action(async (iccid: string, options: ConfigOptions) => {
    const { config } = await configFrom(options);
    const found = await sendCommand(config, topupsOf(iccid), 'catalogue', context);
    const plans = readTopups(iccid, found);
    const rows = plans.map(({ plan, currencies }) => [plan, currencies.join(', ')]);
    const text = renderTable(['PLAN', 'CURRENCIES'], rows);
    writeAnswer(context, options, { iccid, plans: plans.map(jsonFields) }, text);
  });
}
