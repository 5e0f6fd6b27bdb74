import type { Command } from 'commander';
import { shortTime } from '../../core/clock.ts';
import { largestPage } from '../../store/read/page.ts';
import { addAnswerOptions, withReader, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { timeOf, wholeNumber } from '../option-values.ts';
import { jsonFields, writeAnswer, writeNotes } from '../output.ts';
import { renderTable } from '../table.ts';

interface AuditOptions extends ConfigOptions {
  readonly subject?: string;
  readonly since?: string;
  readonly limit: number;
}

export function addAudit(program: Command, context: CliContext): void {
  const list = program
    .command('audit')
    .command('list')
    .description('list the decisions, and the pauses and resumptions of scopes, newest first')
    .option('--subject <subject>', 'about this reference, source/order_id or scope')
    .option('--since <time>', 'only decisions at this time (ISO 8601) or later')
    .option('--limit <n>', 'at most this many', wholeNumber(1, largestPage), 50);
  addAnswerOptions(list).action((options: AuditOptions) =>
    withReader(options, (reader) => {
      const { subject, limit } = options;
      const { rows, next } = reader.auditLog(
        { subject, sinceMs: timeOf('--since', options.since) },
        { limit },
      );
      if (rows.length === 0) writeNotes(context, options, ['Nothing was decided that fits.']);
      if (next !== null) writeNotes(context, options, ['There are more: see --limit']);
      const header = ['AT', 'ACTOR', 'ACTION', 'SUBJECT', 'REASON'];
      const cells = rows.map((row) => [
        shortTime(row.at),
        row.actor,
        row.action,
        row.subject,
        row.reason,
      ]);
      writeAnswer(
        context,
        options,
        { audit: rows.map(jsonFields), more: next !== null },
        renderTable(header, cells),
      );
    }),
  );
}
