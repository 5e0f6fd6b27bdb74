import type { Command } from 'commander';
import { isoTime } from '../../core/clock.ts';
import type { CommandResult } from '../../core/entry/operator-command.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { addConfigOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../errors.ts';
import { sendCommand } from '../worker-client.ts';
import { plainText } from '../output.ts';

type Report = Extract<CommandResult, { kind: 'reconciled' }>['shops'][number];

export function addReconcile(program: Command, context: CliContext): void {
  const command = program
    .command('reconcile')
    .argument('[shop]', 'only this shop; default: every shop with a `rest` section')
    .description('read shops back now, and take in the orders that their webhooks did not deliver')
    .option('--since <time>', 'from this time on (ISO 8601), instead of from where the last run ended')
    .option('--json', 'print JSON');
  addConfigOptions(command).action(
    async (shop: string | undefined, options: ConfigOptions & { since?: string; json?: boolean }) => {
      const sinceMs = options.since === undefined ? null : timeOf(options.since);
      const { config } = configFrom(options);
      const result = await sendCommand(config, { action: 'reconcile', shop: shop ?? null, sinceMs }, context);
      const reports = result.kind === 'reconciled' ? result.shops : [];
      if (reports.some(({ error }) => error !== null)) context.setExitCode(exitCodes.problemsFound);
      if (options.json) context.stdout.write(`${JSON.stringify({ shops: reports.map(asJson) })}\n`);
      else for (const report of reports) context.stdout.write(`${plainText(asText(report, sinceMs !== null))}\n`);
    },
  );
}

function timeOf(text: string): number {
  const isIso = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text);
  const ms = isIso ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(ms)) return ms;
  throw new OrderSyncError('USAGE', `--since must be a time as 2026-11-21 or 2026-11-21T08:00:00Z, got "${text}"`);
}

function asJson(report: Report): Record<string, unknown> {
  const { platform, shop, complete, pages, orders, accepted, takenBack, flagged, unreadable, readToMs, error } = report;
  const readTo = readToMs === null ? null : isoTime(readToMs);
  return {
    platform,
    shop,
    complete,
    pages,
    orders,
    accepted,
    taken_back: takenBack,
    flagged,
    unreadable,
    read_to: readTo,
    error,
  };
}

function asText(report: Report, isSince: boolean): string {
  const { platform, shop, complete, orders, accepted, takenBack, flagged, unreadable, readToMs, error } = report;
  const readTo = readToMs === null ? '' : `, up to ${isoTime(readToMs)}`;
  const found = `${orders} orders read${readTo}; ${accepted} lines taken in, ${takenBack} taken back, ${flagged} flagged for review`;
  const odd = unreadable === 0 ? '' : `; ${unreadable} orders in an unknown form`;
  // The same time again would read the same pages.
  const again = isSince && readToMs !== null ? `run it again with --since ${isoTime(readToMs)}` : 'run it again';
  const end = error === null ? (complete ? '' : `; there is more: ${again}`) : `; then: ${error.message}`;
  return `${platform} ${shop}: ${found}${odd}${end}`;
}
