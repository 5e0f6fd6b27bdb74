import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { OrderSyncError } from '../../src/core/order-sync-error.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { CsvResults } from '../../src/results/csv-results.ts';
import type { OriginalCsv } from '../../src/results/csv-results.ts';
import { ResultFolder } from '../../src/results/result-folder.ts';
import { close, fulfilled, line, Outbox } from '../support/outbox.ts';
import { wrappedStore } from '../support/wrapped-store.ts';

const original = (): OriginalCsv => ({
  hasMark: false,
  lineEnd: '\n',
  records: (async function* () {
    yield [
      { cells: ['order_id'], lineNumber: 1, isBlank: false },
      { cells: ['1'], lineNumber: 2, isBlank: false },
    ];
  })(),
});

/** The CSV results of an order file whose row was bought, where the first records of their end fail. */
async function withFailingEnd(error: Error, times: number) {
  const outbox = await Outbox.open();
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-csv-results-'));
  onTestFinished(async () => {
    await outbox.close();
    rmSync(folder, { recursive: true });
  });
  const { intake, submission } = outbox.store;
  await intake.files.begin({ id: 'f', name: 'orders.csv', folder: 'folder', sizeBytes: 1, nowMs: 1 });
  const lines = [{ ...line({ orderId: '1' }), lineNumber: 2 }];
  await intake.acceptBatch({ nowMs: 1000, fileId: 'f', delimiter: ',', lines, rejections: [] });
  await intake.files.finish({ id: 'f', sha256: 'ab', nowMs: 2 });
  await intake.files.archive('f');
  await submission.closeAttempt(close(await outbox.opened(), fulfilled));
  let failures = 0;
  const store = wrappedStore(outbox.store, (step, call) => (...values) => {
    if (step !== 'results.csvFiles.close' || failures === times) return call(...values);
    failures += 1;
    return Promise.reject(error);
  });
  const { loop: results } = new CsvResults({
    store,
    clock: new SystemClock(),
    logger: pino({ level: 'silent' }),
    folder: new ResultFolder(folder, { mode: 0o600, gid: null }),
    readOriginal: (_, use) => use(original()),
  });
  onTestFinished(() => results.stop());
  const due = () => outbox.store.results.csvFiles.nextDue(Number.MAX_SAFE_INTEGER);
  return { results, due, written: () => readdirSync(join(folder, 'files')) };
}

it('stop the worker when it cannot be recorded that a file was written, which is no failure of the file', async () => {
  const broken = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_WRITE' });
  const { results, due, written } = await withFailingEnd(broken, Number.POSITIVE_INFINITY);
  results.start();
  await expect(results.failed).rejects.toBe(broken);
  expect(written()).toHaveLength(1);
  expect((await due())?.tries).toBe(0);
});

it('wait for space when the disk is full at the record', async () => {
  const { results, due, written } = await withFailingEnd(new OrderSyncError('DISK_FULL', 'The disk is full'), 2);
  results.start();
  await expect.poll(due).toBeNull();
  expect(written()).toHaveLength(1);
});
