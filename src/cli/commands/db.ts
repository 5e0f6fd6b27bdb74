import { resolve } from 'node:path';
import type { Command } from 'commander';
import { runUpkeep } from '../../app/run-upkeep.ts';
import { isoTime } from '../../core/clock.ts';
import {
  addAnswerOptions,
  configFrom,
  configWithoutSecrets,
  databasePathOf,
  type ConfigOptions,
} from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../errors.ts';
import { plainLines, writeAnswer, sayWhatTakesLong } from '../output.ts';
import { cliActor } from '../worker-client.ts';
import { makeOutbox } from './init.ts';

export function addDb(program: Command, context: CliContext): void {
  const db = program.command('db');
  const check = db
    .command('check')
    .description(
      'read the whole database and report whether it is sound; also while a worker runs',
    );
  addAnswerOptions(check).action(async (options: ConfigOptions) => {
    const path = await databasePathOf(options);
    sayWhatTakesLong(context, options, 'reading the whole database');
    const found = await runUpkeep('check', [path]);
    const {
      schemaVersion: schema,
      newestSchema,
      sqliteVersion: sqlite,
      upstream,
      problems,
    } = found;
    const sound = problems.length === 0;
    if (!sound) context.setExitCode(exitCodes.problemsFound);
    const report = { path, sound, problems, schema, newest_schema: newestSchema, sqlite, upstream };
    const state = sound ? 'sound' : `${problems.length} problems`;
    const head = `${path}: ${state}, schema ${schema} of ${newestSchema}, upstream ${upstream ?? 'none'}, SQLite ${sqlite}`;
    writeAnswer(context, options, report, plainLines([head, ...problems]));
  });
  const backup = db
    .command('backup')
    .description(
      'copy the database into the folder of backups and check the copy; also while a worker runs',
    );
  addAnswerOptions(backup).action(async (options: ConfigOptions) => {
    const { databasePath, backup: settings } = (await configWithoutSecrets(options)).config;
    const at = isoTime(context.clock.wallMs());
    sayWhatTakesLong(context, options, 'copying the database, and checking the copy');
    const { file, removed } = await runUpkeep('backup', [databasePath, { ...settings, at }]);
    const text = [`made ${file}`, ...removed.map((name) => `removed ${name}`)];
    writeAnswer(context, options, { file, removed }, plainLines(text));
  });
  const restore = db
    .command('restore')
    .description(
      'replace the database by a backup; orders bought after the backup are looked up before anything is sent',
    )
    .argument('<file>', 'a backup');
  addAnswerOptions(restore).action((file: string, options: ConfigOptions) =>
    restoreBackup(file, options, context),
  );
}

/** The copy does not know what was bought since: the after-loss mode begins with it. */
async function restoreBackup(
  file: string,
  options: ConfigOptions,
  context: CliContext,
): Promise<void> {
  const { config } = await configFrom(options);
  const at = isoTime(context.clock.wallMs());
  const path = config.databasePath;
  sayWhatTakesLong(context, options, 'copying the backup, and checking the copy');
  const { upstream } = config.wholesale;
  const replaced = await runUpkeep('restore', [path, { from: resolve(file), at, upstream }]);
  await makeOutbox(config, context, cliActor());
  const text = [
    `restored ${config.databasePath} from ${file}`,
    ...(replaced === null ? [] : [`the database before is in ${replaced}`]),
    'orders in this database, and orders of the next 7 days, are looked up before they are sent',
  ];
  writeAnswer(context, options, { restored: config.databasePath, replaced }, plainLines(text));
}
