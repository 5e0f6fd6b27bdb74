import type { Command } from 'commander';
import type { Config, LoadedConfig } from '../../config/config.ts';
import { readRunFile } from '../../ops/run-file.ts';
import { checkedConfigFrom, checkSkuMaps } from '../checked-config.ts';
import { sentence } from '../../core/message-text.ts';
import { addAnswerOptions, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import {
  checkClock,
  checkDatabase,
  checkDataDir,
  checkDisk,
  checkPort,
  checkResults,
  checkSharedFolders,
  finding,
  keyFindings,
  lookupFinding,
  pass,
  pauseFindings,
  priceFindings,
  type Finding,
} from '../doctor-checks.ts';
import { exitCodes } from '../errors.ts';
import { plainLines, writeAnswer, sayWhatTakesLong } from '../output.ts';
import { shopFindings } from '../shop-checks.ts';
import { loopbackAddress, sendCommand } from '../worker-client.ts';
import { askHealth } from './health.ts';

/** How long a slot of the request budget is waited for. */
const slotsWithinMs = 30_000;

export function addDoctor(program: Command, context: CliContext): void {
  const command = program.command('doctor');
  addAnswerOptions(command).action(async (options: ConfigOptions) => {
    sayWhatTakesLong(context, options, 'calls to the API wait for their turn in the budget');
    writeFindings(context, options, await examine(options, context));
  });
}

/** Answers with findings; one that fails fails the command. */
export function writeFindings(
  context: CliContext,
  options: ConfigOptions,
  checks: readonly Finding[],
): void {
  const healthy = checks.every(({ status }) => status !== 'fail');
  if (!healthy) context.setExitCode(exitCodes.problemsFound);
  writeAnswer(context, options, { healthy, checks }, plainLines(checks.flatMap(asText)));
}

function asText({ check, status, message, next }: Finding): string[] {
  const [first = '', ...more] = message.split('\n').map((line) => sentence(line.trimStart()));
  return [
    `${status.padEnd(4)}  ${check}: ${first}`,
    ...more.map((line) => `      ${line}`),
    ...(next === null ? [] : [`      To do: ${sentence(next)}`]),
  ];
}

async function examine(options: ConfigOptions, context: CliContext): Promise<readonly Finding[]> {
  let loaded: LoadedConfig;
  try {
    loaded = checkedConfigFrom(options);
    checkSkuMaps(loaded);
  } catch (error) {
    return [await finding('config', () => Promise.reject(error))];
  }
  const { config, file, warnings } = loaded;
  const message = [`${file} is valid`, ...warnings].join('\n');
  const valid: Finding = {
    check: 'config',
    status: warnings.length === 0 ? 'pass' : 'warn',
    message,
    next: null,
  };
  return [valid, ...(await examineInstallation(config, context))];
}

async function examineInstallation(
  config: Config,
  context: CliContext,
): Promise<readonly Finding[]> {
  const local = [
    await finding('data_dir', () => checkDataDir(config)),
    await finding('disk', () => checkDisk(config)),
    await finding('folders', () => checkSharedFolders(config)),
    await finding('database', () => checkDatabase(config)),
    ...(config.results.access.gid === null
      ? []
      : [await finding('results', () => checkResults(config.results))]),
  ];
  const ports = [
    ...(await shopFindings(config.intake.shops, context.clock)),
    ...(await portFindings(config)),
  ];
  // A call needs a slot of the budget, which is in the database: one of another version is not
  // read.
  const isUsable = local.every(
    ({ check, status }) => status === 'pass' || (status === 'warn' && check !== 'database'),
  );
  const asked = isUsable
    ? [...pauseFindings(config), lookupFinding(config), ...(await apiFindings(config, context))]
    : [notAsked];
  return [...local, ...asked, ...ports];
}

const notAsked: Finding = {
  check: 'api',
  status: 'warn',
  message: 'was not called, because a check above failed',
  next: 'do what the checks above say, then run `order-sync doctor` again',
};

async function apiFindings(config: Config, context: CliContext): Promise<readonly Finding[]> {
  const keys = config.wholesale.keys.map(({ name }) => name);
  const found: Finding[] = [];
  const api = await finding('api', async () => {
    const command = { action: 'check_api', keys, withinMs: slotsWithinMs } as const;
    const result = await sendCommand(config, command, 'api', context);
    found.push(...keyFindings(result), ...priceFindings(config, result), {
      check: 'clock',
      ...checkClock(result),
    });
    return pass(config.wholesale.baseUrl);
  });
  return found.length === 0 ? [api] : found;
}

/** The addresses of a running worker are those that it listens on. */
async function portFindings(config: Config): Promise<readonly Finding[]> {
  const { admin, intake } = config;
  const worker = await workerAddress(config);
  if (worker !== null) return [{ check: 'worker', ...pass(`runs, at ${worker}`) }];
  const listens = { 'admin.listen': admin.listen, 'intake.webhook.listen': intake.webhook?.listen };
  const findings: Finding[] = [];
  for (const [key, address] of Object.entries(listens)) {
    if (address !== undefined) findings.push(await finding(key, () => checkPort(key, address)));
  }
  return findings;
}

/** Where the worker of this configuration answers; null when none does. */
async function workerAddress({ dataDir }: Config): Promise<string | null> {
  const run = readRunFile(dataDir);
  if (run === null) return null;
  const address = loopbackAddress(run.admin_address);
  return await askHealth(address, '/livez').then(
    ({ healthy }) => (healthy ? address : null),
    () => null,
  );
}
