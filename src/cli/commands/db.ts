import type { Command } from 'commander';
import { inspectDatabase } from '../../store/sqlite/inspect.ts';
import { addAnswerOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../errors.ts';
import { plainLines, writeAnswer } from '../output.ts';

export function addDb(program: Command, context: CliContext): void {
  const db = program.command('db').description('the database');
  const check = db
    .command('check')
    .description('read the whole database and report whether it is sound; also while a worker runs');
  addAnswerOptions(check).action((options: ConfigOptions) => {
    const path = configFrom(options).config.databasePath;
    const { schemaVersion: schema, newestSchema, sqliteVersion: sqlite, upstream, problems } = inspectDatabase(path);
    const sound = problems.length === 0;
    if (!sound) context.setExitCode(exitCodes.problemsFound);
    const report = { path, sound, problems, schema, newest_schema: newestSchema, sqlite, upstream };
    const state = sound ? 'sound' : `${problems.length} problems`;
    const head = `${path}: ${state}, schema ${schema} of ${newestSchema}, upstream ${upstream ?? 'none'}, SQLite ${sqlite}`;
    writeAnswer(context.stdout, options.json, report, plainLines([head, ...problems]));
  });
}
