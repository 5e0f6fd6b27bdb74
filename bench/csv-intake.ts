import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { pino } from 'pino';
import { FolderIntake } from '../src/intake/folder/folder-intake.ts';
import { SystemClock } from '../src/ops/system-clock.ts';
import { openStore } from '../src/store/store.ts';
import { withFolder } from './support/folder.ts';
import { goal, median, type Row } from './support/row.ts';
import { csvOf } from './support/worker.ts';
import { folderSettings } from '../test/support/intake-settings.ts';

const lines = 50_000;
const rounds = 3;
/** The batch size of the intake: all contenders make the same number of commits. */
const batchLines = 2000;

const shown = (rows: number): string => `${Math.round(rows).toLocaleString('en')} rows/s`;
const perSecond = (ms: number): number => (lines / ms) * 1000;

/** The complete folder intake: claim, checks, identity, reference, commits, report and archive. */
async function throughIntake(folder: string): Promise<{ elapsedMs: number; cpuMs: number }> {
  mkdirSync(folder);
  const clock = new SystemClock();
  const store = openStore({
    path: join(folder, 'order-sync.db'),
    init: 'if-missing',
    namespace: { instance: 'bench', prefix: 'os', secret: Buffer.alloc(32, 7) },
    upstream: 'sandbox',
    sinks: [{ name: 'folder', sources: null }],
  });
  const intake = new FolderIntake({
    openSkuMap: () => null,
    store,
    clock,
    logger: pino({ level: 'silent' }),
    config: {
      ...folderSettings,
      inbox: join(folder, 'inbox'),
      work: join(folder, 'work'),
      archive: join(folder, 'archive'),
      rejected: join(folder, 'rejected'),
      stableObservations: 1,
      stableMs: 0,
      unfinishedMs: 0,
    },
    hasSpace: async () => true,
    onAccepted: () => undefined,
    onFileEnded: () => undefined,
  });
  await intake.scanOnce();
  writeFileSync(join(folder, 'inbox', 'orders.csv'), csvOf(lines, 'shop'));
  const started = performance.now();
  const cpuBefore = process.cpuUsage();
  const report = await intake.scanOnce();
  const elapsedMs = performance.now() - started;
  const { user, system } = process.cpuUsage(cpuBefore);
  await intake.stop();
  await store.close();
  if (report.lines.accepted !== lines)
    throw new Error(`${report.lines.accepted} of ${lines} lines were accepted`);
  return { elapsedMs, cpuMs: (user + system) / 1000 };
}

/** Inserts the same cells from memory into SQLite, and does nothing else. */
function raw(path: string, schema: string, inserts: readonly string[]): number {
  const database = new SqliteDatabase(path);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec(schema);
  const statements = inserts.map((sql) => database.prepare(sql));
  const rows = csvOf(lines, 'shop')
    .split('\n')
    .slice(1, -1)
    .map((line) => line.split(','));
  const commit = database.transaction((batch: readonly (readonly string[])[]) => {
    for (const row of batch) for (const statement of statements) statement.run(row);
  });
  const started = performance.now();
  for (let at = 0; at < rows.length; at += batchLines)
    commit.immediate(rows.slice(at, at + batchLines));
  const elapsed = performance.now() - started;
  database.close();
  return elapsed;
}

const columns = 'order_id, line_id, type, variant, plan, iccid, quantity, days, currency';
const insertInto = (table: string): string =>
  `INSERT INTO ${table} (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const oneTable = (name: string): string =>
  `CREATE TABLE ${name} (id INTEGER PRIMARY KEY, ${columns}) STRICT;`;
const typed = (sql: string): string =>
  sql.replace(
    columns,
    columns
      .split(', ')
      .map((column) => `${column} TEXT NOT NULL`)
      .join(', '),
  );

export async function measure(): Promise<readonly Row[]> {
  const samples = {
    intake: [] as number[],
    cpu: [] as number[],
    flat: [] as number[],
    tables: [] as number[],
  };
  for (let round = 0; round < rounds; round += 1) {
    await withFolder(async (folder) => {
      samples.flat.push(
        raw(join(folder, 'flat.db'), typed(oneTable('orders')), [insertInto('orders')]),
      );
      const { elapsedMs, cpuMs } = await throughIntake(join(folder, 'intake'));
      samples.intake.push(elapsedMs);
      samples.cpu.push(cpuMs);
      const names = ['requests', 'lines', 'entries'];
      // The tables of the outbox without its checks: an order, a line and an entry for each row,
      // with the unique indexes of order and reference and the index of the queue.
      const schema = [
        ...names.map((name) => typed(oneTable(name))),
        'CREATE UNIQUE INDEX requests_by_order ON requests (order_id);',
        'CREATE UNIQUE INDEX lines_by_order ON lines (order_id, line_id);',
        'CREATE UNIQUE INDEX entries_by_reference ON entries (order_id);',
        'CREATE INDEX entries_due ON entries (currency, id);',
      ].join('\n');
      samples.tables.push(raw(join(folder, 'tables.db'), schema, names.map(insertInto)));
    });
  }
  const rate = perSecond(median(samples.intake));
  const against = (name: 'flat' | 'tables'): number =>
    median(samples.intake.map((ms, round) => (samples[name][round] ?? Number.NaN) / ms));
  const flat = perSecond(median(samples.flat));
  const tables = perSecond(median(samples.tables));
  return [
    {
      bench: 'csv-intake',
      what: `${lines} CSV lines through the folder intake, median of ${rounds}`,
      result: shown(rate),
      ratio: `${against('tables').toFixed(2)} of three raw tables`,
      goal: goal('0.3 and 40,000 rows/s', against('tables') >= 0.3 && rate >= 40_000),
    },
    {
      bench: 'csv-intake',
      what: 'the same by the processor time it took, which a busy machine changes less',
      result: `${Math.round(perSecond(median(samples.cpu))).toLocaleString('en')} rows per CPU second`,
      ratio: '',
      goal: '',
    },
    {
      bench: 'csv-intake',
      what: 'raw better-sqlite3, the same rows into three tables with their indexes, same batches (what the goal means)',
      result: shown(tables),
      ratio: '1',
      goal: '',
    },
    {
      bench: 'csv-intake',
      what: 'raw better-sqlite3, one table without an index, same batches',
      result: shown(flat),
      ratio: `intake: ${against('flat').toFixed(2)} of it`,
      goal: '',
    },
  ];
}
