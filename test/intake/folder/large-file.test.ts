import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { csvHeader } from './folder-bench.ts';

const rows = 50_000;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'order-sync-large-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const csvRow = (index: number) =>
  `shop-${index},1,gift_card_order,playstation-usd-25,,,${1 + (index % 9)},,USD,Customer ${index}\n`;
const ndjsonLine = (index: number) =>
  `${JSON.stringify({
    order_id: `shop-${index}`,
    currency: 'USD',
    lines: [
      {
        line_id: '1',
        type: 'gift_card_order',
        variant: 'playstation-usd-25',
        quantity: 1 + (index % 9),
      },
    ],
  })}\n`;
const each = (text: (index: number) => string) =>
  Array.from({ length: rows }, (_, index) => text(index)).join('');

describe('a file of 50,000 order lines', () => {
  it.each([
    ['orders.csv', () => `${csvHeader},customer\n${each(csvRow)}`],
    ['orders.ndjson', () => each(ndjsonLine)],
  ])(
    '%s is taken in with less than 200 MB of memory, and never blocks the event loop for long',
    (name, content) => {
      const file = join(folder, name);
      writeFileSync(file, content());
      const child = join(import.meta.dirname, 'large-file-child.ts');
      const limits = join(import.meta.dirname, '../../../bin/memory-limits.js');
      const args = ['--import', limits, child, file];
      const cost: unknown = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
      expect(cost).toMatchObject({ accepted: rows, batches: rows / 2000 });
      expect(cost).toHaveProperty(
        'maxRssBytes',
        expect.toSatisfy((bytes: number) => bytes < 200e6),
      );
      expect(cost).toHaveProperty(
        'longestTurnMs',
        expect.toSatisfy((ms: number) => ms < 2000),
      );
    },
  );
});
