import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { csvColumns } from '../../src/intake/orders/settings.ts';
import { readDocument } from '../intake/orders/read-document.ts';
import { examplesIn, projectRoot } from './shell-commands.ts';

describe('docs/order-files.md', () => {
  it('show a valid order with a line of each operation', async () => {
    const [json = ''] = examplesIn('docs/order-files.md', 'json');
    const { lines, rejections } = await readDocument(json, 'json');
    expect(rejections).toEqual([]);
    expect(lines.map(({ operation }) => operation)).toEqual([
      'gift_card_order',
      'esim_order',
      'esim_topup',
      'esim_cancel',
    ]);
  });

  it('show first a CSV file of three columns: a sample, of which each row is accepted', async () => {
    const [csv = ''] = examplesIn('docs/order-files.md', 'csv');
    expect(csv.split('\n')[0]?.split(',')).toHaveLength(3);
    expect(csv.trim()).toBe(
      readFileSync(join(projectRoot, 'data/samples/7-three-columns.csv'), 'utf8').trim(),
    );
    const { lines, rejections } = await readDocument(csv, 'csv');
    expect([lines.length, rejections]).toEqual([csv.trim().split('\n').length - 1, []]);
  });

  it('name every column that a CSV file may have', () => {
    const page = readFileSync(join(projectRoot, 'docs/order-files.md'), 'utf8');
    expect(csvColumns.filter((column) => !page.includes(`\`${column}\``))).toEqual([]);
  });
});
