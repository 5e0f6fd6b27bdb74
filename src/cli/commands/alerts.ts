import type { Command } from 'commander';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { programVersion as version } from '../../ops/program-version.ts';
import { testMessage } from '../../results/alerts/message.ts';
import { sendAlert } from '../../results/alerts/send-alert.ts';
import { checkedConfigFrom } from '../checked-config.ts';
import { addAnswerOptions, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { finding } from '../doctor-checks.ts';
import { writeFindings } from './doctor.ts';

export function addAlerts(program: Command, context: CliContext): void {
  const test = program
    .command('alerts')
    .command('test')
    .description('send a test alert to every configured address, and show each answer');
  addAnswerOptions(test).action(async (options: ConfigOptions) => {
    const { alerts, instance } = checkedConfigFrom(options).config;
    if (alerts.length === 0) throw new OrderSyncError('NOT_FOUND', 'No alerts are configured');
    const { clock } = context;
    const message = testMessage(instance, clock.wallMs());
    const deps = { clock, version, signal: new AbortController().signal };
    const sent = alerts.map((alert) =>
      finding(alert.name, async () => {
        const { answer, isComplete } = await sendAlert(alert, message, deps);
        return { status: isComplete ? 'pass' : 'fail', message: answer, next: null };
      }),
    );
    writeFindings(context, options, await Promise.all(sent));
  });
}
