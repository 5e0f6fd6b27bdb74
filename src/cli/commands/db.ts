import type { Command } from 'commander';
import { inspectDatabase } from '../../store/sqlite/inspect.ts';
import { addConfigOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../errors.ts';
import { plainText } from '../output.ts';

export function addDb(program: Command, context: CliContext): void {
  const db = program.command('db').description('the database');
  const check = db
    .command('check')
    .description('read the whole database and tell whether it is sound; works beside a running worker')
    .option('--json', 'print JSON');
  addConfigOptions(check).action((options: ConfigOptions & { json?: boolean }) => {
    const path = configFrom(options).config.databasePath;
    const found = inspectDatabase(path);
    const sound = found.problems.length === 0;
    if (!sound) context.setExitCode(exitCodes.problemsFound);
    if (options.json) {
      const { schemaVersion, newestSchema, sqliteVersion, upstream, problems } = found;
      const report = {
        path,
        sound,
        problems,
        schema: schemaVersion,
        newest_schema: newestSchema,
        sqlite: sqliteVersion,
        upstream,
      };
      context.stdout.write(`${JSON.stringify(report)}\n`);
      return;
    }
    const summary = `${path}: ${sound ? 'sound' : `${found.problems.length} problems`}, schema ${found.schemaVersion} of ${found.newestSchema}, upstream ${found.upstream ?? 'none'}, SQLite ${found.sqliteVersion}`;
    context.stdout.write([summary, ...found.problems].map((line) => `${plainText(line)}\n`).join(''));
  });
}
