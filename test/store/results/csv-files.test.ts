import { stepsOf } from '../../support/steps.ts';
import SqliteDatabase from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { close, fulfilled, line, Outbox } from '../../support/outbox.ts';
import { redeliver } from '../../support/redeliver.ts';

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

const files = () => outbox.store.results.csvFiles;
const due = (nowMs = 99_999) => files().nextDue(nowMs);

/** Takes a file in. Each row is an order id, or null for a row that is not accepted. */
async function take(fileId: string, rows: readonly (string | null)[], firstRow = 2): Promise<void> {
  const { files: orderFiles } = outbox.store.intake;
  await orderFiles.begin({
    id: fileId,
    name: `${fileId}.csv`,
    folder: 'folder',
    sizeBytes: 1,
    nowMs: 1,
  });
  await accept(fileId, rows, firstRow);
  await orderFiles.finish({ id: fileId, sha256: 'ab', nowMs: 2 });
  expect((await due())?.fileId).not.toBe(fileId);
  await orderFiles.archive(fileId);
}

async function accept(
  fileId: string,
  rows: readonly (string | null)[],
  firstRow = 2,
): Promise<void> {
  const numbered = rows.map((orderId, index) => ({ orderId, lineNumber: firstRow + index }));
  await outbox.store.intake.acceptBatch({
    nowMs: 1000,
    fileId,
    delimiter: ';',
    lines: numbered.flatMap(({ orderId, lineNumber }) =>
      orderId === null ? [] : { ...line({ orderId }), lineNumber },
    ),
    rejections: numbered.flatMap(({ orderId, lineNumber }) =>
      orderId !== null
        ? []
        : {
            lineNumber,
            source: null,
            orderId: null,
            lineId: null,
            code: 'invalid_field',
            field: 'quantity',
            rule: 'must be a number',
            value: 'x',
          },
    ),
  });
}

async function buyAll(): Promise<void> {
  for (;;) {
    const attempt = await stepsOf(outbox.store).openAttempt(outbox.claim());
    if (attempt === null) return;
    await stepsOf(outbox.store).closeAttempt(close(attempt, fulfilled));
  }
}

const statesOf = async (id: number, from: number, to: number): Promise<string[]> =>
  [...(await files().results(id, from, to))]
    .map(([row, { state }]) => `${row} ${state}`)
    .toSorted();

/** Writes what is due. */
async function write(): Promise<string | undefined> {
  const file = await due();
  if (file !== null)
    await outbox.store.results.closeDelivery({ ...file, sink: 'csv', nowMs: 5000 });
  return file?.fileId;
}

describe('a CSV file in the outbox', () => {
  it('has what became of each of its rows, also of those that an earlier file had brought', async () => {
    await take('F1', ['1', null, '2']);
    await take('F2', ['2', '3', '1'], 9);
    await buyAll();
    expect(await due()).toMatchObject({
      requestId: -2,
      fileId: 'F2',
      name: 'F2.csv',
      sha256: 'ab',
      delimiter: ';',
    });
    expect(await statesOf(-1, 1, 100)).toEqual(['2 fulfilled', '3 rejected', '4 fulfilled']);
    expect(await statesOf(-1, 3, 3)).toEqual(['3 rejected']);
    expect((await files().results(-1, 2, 2)).get(2)?.entries[0]?.units).toEqual([
      { code: 'SECRET-CODE' },
    ]);
    expect(await statesOf(-2, 1, 100)).toEqual(['10 fulfilled', '11 fulfilled', '9 fulfilled']);
  });

  it('is due again in every file that has the line when a result changes, and in no other', async () => {
    await take('F1', ['1', '2']);
    await take('F2', ['2']);
    await take('F3', ['3']);
    await buyAll();
    for (const _ of [1, 2, 3]) await write();
    expect(await due()).toBeNull();
    await redeliver(outbox.store, { source: 'shop1', orderId: '2' }, 6000);
    expect(new Set([await write(), await write()])).toEqual(new Set(['F1', 'F2']));
    expect(await due()).toBeNull();
  });

  it('waits for the next change, and is due at once where one came meanwhile', async () => {
    await take('F1', ['1', '2']);
    const first = await due();
    if (first === null) throw new Error('the file is due');
    const delivery = { ...first, sink: 'csv', error: 'x' };
    const wait = () =>
      outbox.store.results.failDelivery({
        ...delivery,
        retryAtMs: 9_000_000_000_000_000,
        countsTry: false,
      });
    expect(await files().openRow(first.requestId)).toBe(2);
    await wait();
    expect(await due(8_999_999_999_999_999)).toBeNull();
    await buyAll();
    expect(await files().openRow(first.requestId)).toBeNull();
    expect((await due())?.version).toBeGreaterThan(first.version);
    // What it has seen is old by now.
    await wait();
    await outbox.store.results.giveUpDelivery({ ...delivery, reason: 'x', nowMs: 1 });
    expect((await due())?.tries).toBe(0);
    await outbox.store.results.closeDelivery({ ...delivery, nowMs: 1 });
    expect(await due()).not.toBeNull();
  });

  it('keeps its rows when it is read again after a crash, and has none when another took its place', async () => {
    await take('F1', ['1', '2']);
    const first = await due();
    await accept('F1', ['1', '2']);
    expect(await statesOf(first?.requestId ?? 0, 1, 100)).toEqual(['2 pending', '3 pending']);
    await take('F2', ['1', '2', '3']);
    await outbox.store.intake.files.replaced('F1');
    expect((await due())?.fileId).toBe('F2');
  });

  it('of thousands of rows is read in any part', async () => {
    const ids = Array.from({ length: 4500 }, (_, index) =>
      index % 3000 === 7 ? null : String(index),
    );
    await take('F1', ids);
    const id = (await due())?.requestId ?? 0;
    const database = new SqliteDatabase(outbox.path, { readonly: true });
    expect(database.prepare('SELECT count(*) FROM file_rows').pluck().get()).toBe(4);
    database.close();
    for (const [from, to] of [
      [1, 3],
      [1999, 2004],
      [3007, 3011],
      [4000, 4003],
      [4499, 9999],
    ] as const) {
      const expected = ids.flatMap((orderId, index) =>
        index + 2 < from || index + 2 > to
          ? []
          : `${index + 2} ${orderId === null ? 'rejected' : 'pending'}`,
      );
      expect(await statesOf(id, from, to), `${from} to ${to}`).toEqual(expected.toSorted());
    }
  });
});
