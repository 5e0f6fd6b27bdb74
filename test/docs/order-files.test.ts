import { describe, expect, it } from 'vitest';
import { orderHeadSchema, orderLineSchema } from '../../src/core/order/order-request.ts';
import { csvColumns } from '../../src/intake/orders/settings.ts';
import { examplesIn } from './shell-commands.ts';

describe('the order files in the README', () => {
  it('show a valid order with a line of each operation', () => {
    const { lines, ...head } = examplesIn('README.md', 'json')
      .map((text) => JSON.parse(text))
      .find((example) => 'not_after' in example);
    orderHeadSchema.parse(head);
    const operations = lines.map((line: unknown) => orderLineSchema.parse(line).type);
    expect(operations).toEqual(['gift_card_order', 'esim_order', 'esim_topup', 'esim_cancel']);
  });

  it('show a CSV file with the columns of the intake, in their order', () => {
    const [csv = ''] = examplesIn('README.md', 'csv');
    const [header = '', ...rows] = csv.trim().split('\n');
    const columns = header.split(',');
    expect(csvColumns.slice(0, columns.length)).toEqual(columns);
    for (const row of rows) expect(row.split(',')).toHaveLength(columns.length);
  });
});
