import { type Command, Option } from 'commander';
import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { readRunFile } from '../../ops/run-file.ts';
import { addConfigOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../errors.ts';
import { plainText } from '../output.ts';
import { loopbackAddress } from '../worker-client.ts';

/** A probe that takes longer is a failed one: orchestrators ask again soon. */
const timeoutMs = 2500;

export function addHealth(program: Command, context: CliContext): void {
  const command = program
    .command('health')
    .description('ask the running worker how it is; for people, containers and scripts')
    .addOption(new Option('--live', 'only whether it lives').conflicts('ready'))
    .addOption(new Option('--ready', 'only whether it can accept and record orders'))
    .option('--json', 'print the answer as JSON');
  addConfigOptions(command).action(
    async (options: ConfigOptions & { live?: boolean; ready?: boolean; json?: boolean }) => {
      const path = options.live ? '/livez' : options.ready ? '/readyz' : '/healthz';
      const { healthy, body } = await ask(addressOf(configFrom(options).config), path);
      if (!healthy) context.setExitCode(exitCodes.problemsFound);
      context.stdout.write(options.json ? `${JSON.stringify(body)}\n` : asText(body));
    },
  );
}

/** Where a worker of this configuration listens: what it wrote down itself, else what the configuration says. */
function addressOf(config: Config): string {
  const { host, port } = config.admin.listen;
  const configured = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const address = readRunFile(config.dataDir)?.admin_address ?? configured;
  return loopbackAddress(address);
}

const bodySchema = z.looseObject({
  status: z.enum(['pass', 'warn', 'fail']),
  checks: z.record(z.string(), z.string()).optional(),
});
type Body = z.infer<typeof bodySchema>;

async function ask(address: string, path: string): Promise<{ healthy: boolean; body: Body }> {
  try {
    const answer = await fetch(`http://${address}${path}`, {
      signal: AbortSignal.timeout(timeoutMs),
      redirect: 'error',
    });
    return { healthy: answer.ok, body: bodySchema.parse(await answer.json()) };
  } catch (cause) {
    throw new OrderSyncError('UNREACHABLE', `No worker answers at http://${address}${path}`, {
      hint: 'is it running, with this config? start it with `order-sync run`',
      cause,
    });
  }
}

function asText(body: Body): string {
  const checks = Object.entries(body.checks ?? {}).map(([name, status]) => `  ${name}: ${status}`);
  return [body.status, ...checks].map((line) => `${plainText(line)}\n`).join('');
}
