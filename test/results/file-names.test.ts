import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WriteBack } from '../../src/results/write-back.ts';
import { folderSink, ResultFolder } from '../../src/results/result-folder.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { openStore } from '../../src/store/store.ts';
import type { Store } from '../../src/store/store.ts';
import { redeliver } from '../support/redeliver.ts';

interface Box {
  readonly store: Store;
  readonly folder: string;
  /** Takes in one order after the other and writes their results. */
  order(source: string, ...orderIds: string[]): Promise<void>;
  /** Writes all results that are due. */
  write(): Promise<void>;
}

function openBox(): Box {
  const root = mkdtempSync(join(tmpdir(), 'order-sync-names-'));
  const store = openStore({
    path: join(root, 'order-sync.db'),
    init: 'if-missing',
    namespace: { instance: 'test', prefix: 'os', secret: Buffer.alloc(32, 7) },
    upstream: 'sandbox',
    sinks: [{ name: 'folder', sources: null }],
  });
  onTestFinished(async () => {
    await store.close();
    rmSync(root, { recursive: true });
  });
  const folder = join(root, 'results');
  const clock = new SystemClock();
  const write = async (): Promise<void> => {
    const loop = new WriteBack(
      { store, clock, random: Math.random, logger: pino({ level: 'silent' }) },
      [folderSink(new ResultFolder(folder, { mode: 0o600, gid: null }))],
    );
    await loop.start();
    await loop.stop();
  };
  const order = async (source: string, ...orderIds: string[]): Promise<void> => {
    for (const orderId of orderIds) {
      const rejection = {
        source,
        orderId,
        lineId: '1',
        lineNumber: 1,
        code: 'x',
        field: null,
        rule: 'x',
        value: null,
      };
      const rejections = [{ ...rejection, product: null }];
      await store.intake.acceptBatch({
        nowMs: clock.wallMs(),
        fileId: null,
        lines: [],
        rejections,
      });
    }
  };
  return { store, folder, order, write };
}

/**
 * Every result by its path, as it is on a disk that neither knows capital letters nor the forms of
 * Unicode.
 */
function filesIn(folder: string): Map<string, string[]> {
  const files = new Map<string, string[]>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const { source, order_id } = JSON.parse(readFileSync(path, 'utf8'));
    const folded = path
      .slice(folder.length + 1)
      .normalize('NFKC')
      .toUpperCase()
      .toLowerCase();
    files.set(folded, [...(files.get(folded) ?? []), `${source}/${order_id}`]);
  }
  return files;
}

const namesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted();

describe('the files of results whose order ids differ in capital letters only', () => {
  it('have the order id as a name, except the later ones, which add a hash', async () => {
    const box = openBox();
    await box.order('shop', 'A1', 'a1', 'ORD-7', 'x9');
    await box.write();
    expect(namesIn(box.folder)).toEqual([
      'shop/A1.json',
      'shop/ORD-7.json',
      expect.stringMatching(/^shop\/a1~[0-9a-f]{16}\.json$/),
      'shop/x9.json',
    ]);
  });

  it('keep their names when they are written again, also when the first one comes last', async () => {
    const box = openBox();
    await box.order('shop', 'a1', 'A1');
    await box.write();
    const names = namesIn(box.folder);
    await redeliver(box.store, { orderId: 'A1' }, Date.now());
    await box.write();
    await redeliver(box.store, { orderId: 'a1' }, Date.now());
    await box.write();
    expect(namesIn(box.folder)).toEqual(names);
  });

  it('are never one file on a disk that ignores case, whatever the sources and the ids', async () => {
    const unit = fc.constantFrom(...Array.from('aAbBäÄßſkKK1#'));
    const id = fc.string({ unit, minLength: 1, maxLength: 3 });
    const orders = fc.array(fc.tuple(fc.constantFrom('shop', 'Shop', 'SHOP'), id), {
      minLength: 1,
      maxLength: 30,
    });
    await fc.assert(
      fc.asyncProperty(orders, async (some) => {
        const box = openBox();
        for (const [source, orderId] of some) await box.order(source, orderId.normalize('NFC'));
        await box.write();
        const files = filesIn(box.folder);
        const expected = new Set(
          some.map(([source, orderId]) => `${source}/${orderId.normalize('NFC')}`),
        );
        expect([...files.values()].filter((sharing) => sharing.length > 1)).toEqual([]);
        expect(new Set([...files.values()].flat())).toEqual(expected);
      }),
      {
        numRuns: 20,
        examples: [
          [
            [
              ['shop', '#1'],
              ['Shop', '#1'],
              ['shop', 'A'],
              ['SHOP', 'a'],
            ],
          ],
        ],
      },
    );
  });
});

it('no result is written through a link in place of the folder of its source', async () => {
  const box = openBox();
  mkdirSync(join(box.folder, '..', 'private'));
  mkdirSync(box.folder);
  symlinkSync(join(box.folder, '..', 'private'), join(box.folder, 'shop'));
  await box.order('shop', '1001');
  await box.write();
  expect(readdirSync(join(box.folder, '..', 'private'))).toEqual([]);
  expect(
    (await box.store.results.dueDeliveries('folder', Number.MAX_SAFE_INTEGER, 10)).length,
  ).toBe(1);
  rmSync(join(box.folder, 'shop'));
  await redeliver(box.store, { orderId: '1001' }, Date.now());
  await box.write();
  expect(namesIn(box.folder)).toEqual(['shop/1001.json']);
});
