import { type Command, Option } from 'commander';
import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import { counted, countsText } from '../../core/counts.ts';
import { checkReason } from '../../core/operator/health-reasons.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { readRunFile } from '../../ops/run-file.ts';
import { addConfigOptions, configWithoutSecrets, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../errors.ts';
import { plainLines, writeAnswer } from '../output.ts';
import { loopbackAddress, requireOwnDatabase } from '../worker-client.ts';

/** A check that takes longer has failed: orchestrators ask again soon. */
const timeoutMs = 2500;

interface HealthOptions extends ConfigOptions {
  readonly live?: boolean;
  readonly ready?: boolean;
  readonly strict?: boolean;
}

export function addHealth(program: Command, context: CliContext): void {
  const command = program
    .command('health')
    .addOption(new Option('--live', 'only whether it lives').conflicts('ready'))
    .addOption(new Option('--ready', 'ask only whether the worker can accept and record orders'))
    .option('--strict', 'also exit with code 8 when a check warns, and say why in plain sentences')
    .option('--json', 'print the answer as JSON');
  addConfigOptions(command).action(async (options: HealthOptions) => {
    const path = options.live ? '/livez' : options.ready ? '/readyz' : '/healthz';
    const { config } = await configWithoutSecrets(options);
    const { healthy, body } = await askHealth(addressOf(config), path).catch(
      async (error: unknown) => {
        await requireOwnDatabase(config);
        throw error;
      },
    );
    if (!healthy || (options.strict === true && body.status !== 'pass'))
      context.setExitCode(exitCodes.problemsFound);
    const { checks = {} } = body;
    const shown = Object.entries(checks).map(
      ([name, status]) => `  ${name}: ${status}${detailsOf(name, body)}`,
    );
    const reasons = options.strict === true ? healthReasons(body) : [];
    const answer = reasons.length === 0 ? body : { ...body, reasons };
    const told = new Set([...pauseReasons(body), ...reasons]);
    writeAnswer(context, options, answer, plainLines([body.status, ...shown, ...told]));
  });
}

/**
 * Where a worker of this configuration listens: as its run file says, else as the configuration
 * says.
 */
function addressOf(config: Config): string {
  const { host, port } = config.admin.listen;
  const configured = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return loopbackAddress(readRunFile(config.dataDir)?.admin_address ?? configured);
}

const bodySchema = z.looseObject({
  status: z.enum(['pass', 'warn', 'fail']),
  checks: z.record(z.string(), z.string()).optional(),
  details: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
  pauses: z
    .array(
      z.looseObject({
        scope: z.string(),
        reason: z.string(),
        since: z.string(),
        holds_up: z.number(),
      }),
    )
    .optional(),
  pauses_not_shown: z.number().optional(),
});
type HealthBody = z.infer<typeof bodySchema>;

/** The details of a check, as ` (ahead_ms 432000000)`. */
function detailsOf(name: string, { details = {} }: HealthBody): string {
  const known = Object.entries(details[name] ?? {});
  return known.length === 0
    ? ''
    : ` (${known.map(([key, value]) => `${key} ${JSON.stringify(value)}`).join(', ')})`;
}

export async function askHealth(
  address: string,
  path: string,
): Promise<{ healthy: boolean; body: HealthBody }> {
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const answer = await fetch(`http://${address}${path}`, { signal, redirect: 'error' });
    return { healthy: answer.ok, body: bodySchema.parse(await answer.json()) };
  } catch (cause) {
    const hint = 'is the worker running, with this config? `order-sync run` starts it';
    throw new OrderSyncError('UNREACHABLE', `No worker answers at http://${address}${path}`, {
      hint,
      cause,
    });
  }
}

type Details = Readonly<Record<string, unknown>>;

/** One sentence for each reason why the worker is not well, for people. */
export function healthReasons(body: Partial<HealthBody>): readonly string[] {
  return Object.entries(body.checks ?? {})
    .filter(([, status]) => status !== 'pass')
    .flatMap(([name, status]) => {
      const details = body.details?.[name] ?? {};
      const told = name === 'submission' ? pauseReasons(body) : detailReasons(name, details);
      return told.length > 0 ? told : [checkReason(name, status, details)];
    });
}

function detailReasons(name: string, details: Details): readonly string[] {
  if (name === 'attention' && Object.keys(details).length > 0) {
    const { more, ...kinds } = details;
    return [
      `The attention list has ${counts(kinds)}${more === true ? ' and more' : ''}: see \`order-sync orders list --attention\`.`,
    ];
  }
  if (name === 'results')
    return Object.entries(details).map(([sink, pause]) => sinkReason(sink, pause));
  const { refused } = details;
  return refused === undefined
    ? []
    : [`Callers were refused in the last minute: ${counts(refused)}.`];
}

function pauseReasons({
  pauses = [],
  pauses_not_shown: more = 0,
}: Partial<HealthBody>): readonly string[] {
  const shown = pauses.map(({ scope, reason, since, holds_up: count }) => {
    return `Nothing is sent for ${scope} since ${since} (${reason}); ${counted(count, 'entry waits', 'entries wait')}.`;
  });
  return more === 0
    ? shown
    : [
        ...shown,
        `${counted(more, 'more scope is', 'more scopes are')} paused: \`order-sync queue status\` has them.`,
      ];
}

function sinkReason(sink: string, pause: unknown): string {
  const { reason, since, waiting }: Details = isObject(pause) ? pause : {};
  return `The sink ${sink} has taken no results since ${String(since)} (${String(reason)}); ${counted(Number(waiting), 'waits', 'wait')}.`;
}

const counts = (value: unknown): string => countsText(isObject(value) ? value : {});

function isObject(value: unknown): value is Details {
  return typeof value === 'object' && value !== null;
}
