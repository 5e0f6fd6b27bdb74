import type { Command } from 'commander';
import { isoTime } from '../../core/clock.ts';
import type { ResultOf } from '../../core/operator/operator-command.ts';
import { addAnswerOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../errors.ts';
import { jsonFields, plainLines, writeAnswer, sayWhatTakesLong } from '../output.ts';
import { timeOf } from '../option-values.ts';
import { sendCommand } from '../worker-client.ts';

type Report = ResultOf<'reconciled'>['shops'][number];

export function addReconcile(program: Command, context: CliContext): void {
  const command = program
    .command('reconcile')
    .argument('[shop]', 'only this shop; default: every shop with a `rest` section')
    .option(
      '--since <time>',
      'from this time on (ISO 8601), instead of from where the last run ended',
    );
  addAnswerOptions(command).action(
    async (shop: string | undefined, options: ConfigOptions & { since?: string }) => {
      const sinceMs = timeOf('--since', options.since) ?? null;
      const { config } = await configFrom(options);
      sayWhatTakesLong(context, options, 'the worker reads the shops');
      const asked = { action: 'reconcile', shop: shop ?? null, sinceMs } as const;
      const { shops: reports } = await sendCommand(config, asked, 'reconciled', context);
      if (reports.some(({ error }) => error !== null)) context.setExitCode(exitCodes.problemsFound);
      const text = plainLines(reports.map((report) => reconcileText(report, sinceMs !== null)));
      writeAnswer(context, options, { shops: reports.map(asJson) }, text);
    },
  );
}

function asJson({ readToMs, ...report }: Report): Record<string, unknown> {
  return { ...jsonFields(report), read_to: readToMs === null ? null : isoTime(readToMs) };
}

/** @param isSince whether the run began at a time that was asked for */
export function reconcileText(report: Report, isSince: boolean): string {
  const {
    platform,
    shop,
    complete,
    orders,
    accepted,
    takenBack,
    flagged,
    unreadable,
    readToMs,
    error,
  } = report;
  const readTo = readToMs === null ? '' : `, up to ${isoTime(readToMs)}`;
  const counts = `${accepted} lines taken in, ${takenBack} taken back by the shop, ${flagged} flagged for review`;
  const odd = unreadable === 0 ? '' : `; ${unreadable} orders that cannot be read`;
  // With the same time again it would read the same pages.
  const again =
    isSince && readToMs !== null
      ? `run it again with --since ${isoTime(readToMs)}`
      : 'run it again';
  const end =
    error === null ? (complete ? '' : `; there is more: ${again}`) : `; then: ${error.message}`;
  return `${platform} ${shop}: ${orders} orders read${readTo}; ${counts}${odd}${end}`;
}
