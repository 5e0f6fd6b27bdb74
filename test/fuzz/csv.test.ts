import { Buffer } from 'node:buffer';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openReadOnly } from '../../src/store/sqlite/database.ts';
import { csvHeader, FolderBench } from '../intake/folder/folder-bench.ts';
import { readDocument } from '../intake/orders/read-document.ts';
import { damaged, fuzzTimeoutMs, runs, together } from './strange-inputs.ts';

const cell = fc.oneof(
  {
    weight: 40,
    arbitrary: fc.constantFrom(
      '',
      '1',
      'gift_card_order',
      'esim_order',
      'esim_topup',
      'USD',
      'steam-usd-5',
      '2026-12-01T00:00:00Z',
    ),
  },
  {
    weight: 10,
    arbitrary: fc.constantFrom(
      '0',
      '-1',
      '1e3',
      '99999999999',
      '="1"',
      '8.99990E+18',
      '8999901000000000013',
      '__proto__',
      "'=cmd()",
    ),
  },
  {
    weight: 1,
    arbitrary: fc.string({
      unit: fc.constantFrom(...Array.from('a",;\n\r\t é€😀\u0000')),
      maxLength: 12,
    }),
  },
);
/** A valid row, and a row with any content. */
const row = fc.oneof(
  { weight: 3, arbitrary: fc.uuid().map((id) => `${id},1,gift_card_order,steam-usd-5,,,1,,USD`) },
  {
    weight: 2,
    arbitrary: fc.array(cell, { minLength: 7, maxLength: 11 }).map((cells) => cells.join(',')),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.uuid(), fc.array(cell, { minLength: 8, maxLength: 8 }))
      .map(([id, cells]) => [id, ...cells].join(',')),
  },
);
const document = fc
  .record({
    start: fc.oneof(
      { weight: 6, arbitrary: fc.constant('') },
      { weight: 1, arbitrary: fc.constantFrom('\uFEFF', 'sep=,\n', 'sep=;\n', '\n\n') },
    ),
    header: fc.oneof(
      { weight: 9, arbitrary: fc.constant(csvHeader) },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          `${csvHeader},note`,
          csvHeader.replace('iccid', 'icid'),
          '',
          `${csvHeader},days`,
        ),
      },
    ),
    rows: fc.array(row, { maxLength: 6 }),
    end: fc.constantFrom('\n', '\r\n', '\r'),
    isEnded: fc.boolean(),
  })
  .map(
    ({ start, header, rows, end, isEnded }) =>
      `${start}${[header, ...rows].join(end)}${isEnded ? end : ''}`,
  );
const file = fc.oneof(
  { weight: 8, arbitrary: document.map((text) => Buffer.from(text)) },
  { weight: 3, arbitrary: damaged(document) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)) },
);

describe('CSV files of any content in the inbox', () => {
  it(`are archived with their lines in the outbox, or rejected with a report: ${runs.csv} files`, {
    timeout: fuzzTimeoutMs,
  }, async () => {
    const bench = new FolderBench();
    await bench.intake.scanOnce();
    let dropped = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(file, { minLength: together, maxLength: together }),
        async (files) => {
          for (const content of files) {
            dropped += 1;
            bench.drop(`f${dropped}.csv`, content);
          }
          const report = await bench.intake.scanOnce();
          expect(report.ingested + report.rejected).toBe(files.length);
          expect([bench.names('inbox'), bench.names('work')]).toEqual([[], []]);
        },
      ),
      { numRuns: Math.ceil(runs.csv / together), endOnFailure: true },
    );
    expect(bench.log.filter(({ level }) => level >= 60)).toEqual([]);

    // A file that left the inbox is acknowledged: the outbox must have its accepted lines, and
    // nothing else.
    const archived = readdirSync(bench.config.archive, {
      recursive: true,
      withFileTypes: true,
    }).filter((entry) => entry.isFile());
    const promised = new Set<string>();
    for (const entry of archived) {
      const { lines } = await readDocument(readFileSync(join(entry.parentPath, entry.name)), 'csv');
      for (const { source, orderId, lineId } of lines)
        promised.add(JSON.stringify([source, orderId, lineId]));
    }
    const database = openReadOnly(join(bench.root, 'order-sync.db'));
    const stored = new Set(
      database
        .prepare<[], { source: string; order_id: string; line_id: string }>(
          'SELECT source, order_id, line_id FROM outbox',
        )
        .all()
        .map((entry) => JSON.stringify([entry.source, entry.order_id, entry.line_id])),
    );
    const counted = database
      .prepare<[], number>('SELECT sum(accepted_count) FROM files')
      .pluck()
      .get();
    database.close();
    expect(
      [...promised].filter((line) => !stored.has(line)),
      'acknowledged, and not in the outbox',
    ).toEqual([]);
    expect(
      [...stored].filter((line) => !promised.has(line)),
      'in the outbox, and in no archived file',
    ).toEqual([]);
    expect(counted).toBe(stored.size);
    expect(stored.size).toBeGreaterThan(runs.csv / 4);
    expect(bench.names('rejected').length).toBeGreaterThan(0);
    await bench.close();
  });
});
