import type { Command } from 'commander';
import { shortTime } from '../../core/clock.ts';
import { largestPage } from '../../store/read/page.ts';
import { addAnswerOptions, withReader, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { timeOf } from '../iso-time.ts';
import { jsonFields, writeAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import { wholeNumber } from '../whole-number.ts';

interface AuditOptions extends ConfigOptions {
  readonly actor?: string;
  readonly action?: string;
  readonly subject?: string;
  readonly since?: string;
  readonly until?: string;
  readonly limit: number;
  readonly after?: string;
}

export function addAudit(program: Command, context: CliContext): void {
  const audit = program.command('audit').description('who decided what, and why');
  const list = audit
    .command('list')
    .description('list what was decided, and which scopes were paused and resumed, newest first')
    .option('--actor <actor>', 'by this user, token or part of the program, for example cli:anna or worker')
    .option('--action <action>', 'only this, for example hold, pause or read_codes')
    .option('--subject <subject>', 'about this reference, source/order_id or scope')
    .option('--since <time>', 'at this time (ISO 8601) or later')
    .option('--until <time>', 'before this time (ISO 8601)')
    .option('--limit <n>', 'at most this many', wholeNumber(1, largestPage), 50)
    .option('--after <place>', 'continue where the list before ended');
  addAnswerOptions(list).action((options: AuditOptions) =>
    withReader(options, (reader) => {
      const { actor, action, subject, limit, after } = options;
      const [sinceMs, untilMs] = [optionalTime('--since', options.since), optionalTime('--until', options.until)];
      const { rows, next } = reader.auditLog({ actor, action, subject, sinceMs, untilMs }, { limit, after });
      if (!options.json && rows.length === 0) context.stderr.write('Nothing was decided that fits.\n');
      if (!options.json && next !== null) context.stderr.write(`There are more: --after ${next}\n`);
      const header = ['AT', 'ACTOR', 'ACTION', 'SUBJECT', 'REASON'];
      const cells = rows.map((row) => [shortTime(row.at), row.actor, row.action, row.subject, row.reason]);
      const text = rows.length === 0 ? '' : renderTable(header, cells);
      writeAnswer(context.stdout, options.json, { audit: rows.map(jsonFields), next_after: next }, text);
    }),
  );
}

const optionalTime = (option: string, text: string | undefined): number | undefined =>
  text === undefined ? undefined : timeOf(option, text);
