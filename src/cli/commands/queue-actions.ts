import { Argument, type Command } from 'commander';
import { addConfigOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { cliActor, sendCommand } from '../worker-client.ts';

const scopes = 'account, key:<name>, balance:<currency>, family:gift_card or family:esim';
const descriptions = {
  pause: 'stop sending for a scope, until it is resumed',
  resume: 'let a scope that stands still go on',
} as const;

/** The commands by which people stop whole scopes, and let them go on. */
export function addQueueActions(queue: Command, context: CliContext): void {
  for (const action of ['pause', 'resume'] as const) {
    const command = queue
      .command(action)
      .description(descriptions[action])
      .addArgument(new Argument('<scope>', scopes))
      .requiredOption('--reason <text>', 'why, for the audit log; at least 3 characters')
      .option('--json', 'print JSON');
    addConfigOptions(command).action(
      async (scope: string, options: ConfigOptions & { reason: string; json?: boolean }) => {
        const { config } = configFrom(options);
        await sendCommand(config, { action, scope, actor: cliActor(), reason: options.reason }, context);
        const paused = action === 'pause';
        if (options.json) context.stdout.write(`${JSON.stringify({ scope, paused })}\n`);
        else context.stdout.write(paused ? `${scope} stands still until it is resumed\n` : `${scope} goes on\n`);
      },
    );
  }
}
