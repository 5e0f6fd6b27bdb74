import { stepsOf } from '../support/steps.ts';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import type { OrderAnswer } from '../../src/core/answers/order-answer.ts';
import type { OriginalCsv } from '../../src/core/result/csv-result.ts';
import { OrderSyncError } from '../../src/core/order-sync-error.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { CsvSink, type ReadOriginal } from '../../src/results/csv-results.ts';
import { ResultFolder } from '../../src/results/result-folder.ts';
import { WriteBack } from '../../src/results/write-back.ts';
import { answer, close, fulfilled, line, Outbox } from '../support/outbox.ts';

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

/** The sink of CSV files with one that has one row, in the loop that delivers it. */
async function withFile(
  readOriginal: ReadOriginal = (_, use) => use(original()),
  ordered: Parameters<typeof line>[0] = {},
) {
  const outbox = await Outbox.open([{ name: 'csv', sources: null }]);
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-csv-results-'));
  const { store } = outbox;
  await store.intake.files.begin({
    id: 'f',
    name: 'orders.csv',
    folder: 'folder',
    sizeBytes: 1,
    nowMs: 1,
  });
  const lines = [{ ...line({ orderId: '1', ...ordered }), lineNumber: 2 }];
  await store.intake.acceptBatch({
    nowMs: 1000,
    fileId: 'f',
    delimiter: ',',
    lines,
    rejections: [],
  });
  await store.intake.files.finish({ id: 'f', sha256: 'ab', nowMs: 2 });
  await store.intake.files.archive('f');
  const clock = new SystemClock();
  const sink = new CsvSink({
    store,
    clock,
    folder: new ResultFolder(folder, { mode: 0o600, gid: null }),
    readOriginal,
  });
  const loop = new WriteBack({ store, clock, random: () => 0, logger: pino({ level: 'silent' }) }, [
    sink,
  ]);
  onTestFinished(async () => {
    await loop.stop();
    await outbox.close();
    rmSync(folder, { recursive: true });
  });
  await loop.start();
  const delivery = () => outbox.rows("SELECT * FROM deliveries WHERE sink = 'csv'")[0];
  const attention = () => outbox.rows('SELECT id, reason FROM outbox_attention');
  const buy = async (units: OrderAnswer['units'] = answer.units) =>
    stepsOf(store).closeAttempt(
      close(await outbox.opened(), { ...fulfilled, answer: { ...answer, units } }),
    );
  const row = (): Record<string, string> | undefined =>
    parse<Record<string, string>>(readFileSync(join(folder, 'files', 'orders.csv.f.csv'), 'utf8'), {
      columns: true,
    })[0];
  return { outbox, loop, folder, delivery, attention, buy, row };
}

it('is written when the last row of its file has ended, and not before', async () => {
  const { loop, folder, delivery, buy } = await withFile();
  await expect
    .poll(delivery)
    .toMatchObject({ last_error: 'the CSV result waits for the results of its rows', tries: 0 });
  expect(readdirSync(folder)).toEqual([]);
  await buy();
  loop.notify();
  await expect.poll(delivery).toMatchObject({ done_version: 2, due_version: 2 });
  expect(readFileSync(join(folder, 'files', 'orders.csv.f.csv'), 'utf8')).toMatch(
    /^order_id,result_state,.*\n1,fulfilled,/,
  );
});

it('loses the activation code of an eSIM that was cancelled since, says so, and keeps the others', async () => {
  const esims = { operation: 'esim_order', variant: null, plan: 'es-1', quantity: 2 } as const;
  const { outbox, loop, delivery, buy, row } = await withFile(undefined, esims);
  const iccids = ['8944000000000000001', '8944000000000000019'] as const;
  await buy(iccids.map((iccid) => ({ iccid, lpa: `LPA:1$a.b$${iccid}` })));
  loop.notify();
  await expect.poll(delivery).toMatchObject({ done_version: 2 });
  expect(row()).toMatchObject({ result_iccid: iccids.join(' ; '), result_error_code: '' });
  const cancel = async (iccid: string): Promise<void> => {
    const operation = 'esim_cancel';
    await outbox.accept([
      line({ operation, iccid, variant: null, quantity: null, orderId: `cancel ${iccid}` }),
    ]);
    await buy([]);
    loop.notify();
  };
  await cancel(iccids[0]);
  await expect.poll(delivery).toMatchObject({ done_version: 3 });
  expect(row()).toMatchObject({
    result_state: 'fulfilled',
    result_iccid: iccids[1],
    result_lpa: `LPA:1$a.b$${iccids[1]}`,
    result_error_code: 'esim_cancelled',
    result_error_message: `The eSIM ${iccids[0]} was cancelled`,
  });
  await cancel(iccids[1]);
  await expect.poll(delivery).toMatchObject({ done_version: 4 });
  expect(row()).toMatchObject({ result_iccid: '', result_lpa: '' });
});

it('is given up where its file was changed; one that is not found is looked for again three times', async () => {
  const changed = await withFile(() =>
    Promise.reject(new OrderSyncError('NOT_ALLOWED', 'another file')),
  );
  await changed.buy();
  changed.loop.notify();
  await expect.poll(changed.delivery).toMatchObject({ tries: 1, last_error: 'another file' });
  expect(changed.attention()).toEqual([{ id: 'delivery:-1:csv', reason: 'result_given_up' }]);
  let looks = 0;
  const gone = await withFile(() => {
    looks += 1;
    return Promise.reject(new OrderSyncError('NOT_FOUND', 'gone'));
  });
  await gone.buy();
  gone.loop.notify();
  await expect.poll(() => looks, { timeout: 5000 }).toBe(3);
  expect([gone.attention(), gone.delivery()]).toMatchObject([[], { tries: 0 }]);
  await expect.poll(gone.attention, { timeout: 10_000 }).toHaveLength(1);
  expect(looks).toBe(4);
});

it('is no failure while its file is not in the archive yet', async () => {
  let looks = 0;
  const late = await withFile(async (_, use) => {
    looks += 1;
    if (looks === 1) throw new OrderSyncError('NOT_FOUND', 'it is being moved');
    await use(original());
  });
  await late.buy();
  late.loop.notify();
  await expect.poll(late.delivery, { timeout: 5000 }).toMatchObject({ tries: 0, done_version: 2 });
});

it('pauses at the first failure of the folder, and is written when that is repaired', async () => {
  const { loop, folder, delivery, buy } = await withFile();
  writeFileSync(join(folder, 'files'), '');
  await buy();
  loop.notify();
  await expect.poll(delivery).toMatchObject({ tries: 1 });
  rmSync(join(folder, 'files'));
  await expect.poll(delivery, { timeout: 5000 }).toMatchObject({ done_version: 2 });
});
