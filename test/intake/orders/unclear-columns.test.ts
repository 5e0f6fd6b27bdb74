import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ParseOptions } from '../../../src/intake/orders/settings.ts';
import { readDocument } from './read-document.ts';

const base = 'order_id,variant,currency';

async function refusal(header: string, row: string, columns: ParseOptions['columns'] = {}) {
  const { error, lines } = await readDocument(`${header}\n${row}\n`, 'csv', {
    columns,
    currency: 'USD',
  });
  return { code: error?.documentCode, text: `${error?.message} ${error?.hint}`, lines };
}

describe('a column that may be the quantity', () => {
  it.each([
    'Lineitem quantity',
    'quantity-purchased',
    'qty_ordered',
    'product_quantity',
    'units',
    'Units sold',
    'Menge',
    'Bestellmenge',
    'Artikelanzahl',
    'Stück',
    'Stückzahl',
    'Cantidad',
    'cantidad de artículos',
    'Antal',
    'Aantal stuks',
    'Pieces',
    'No. of pcs',
    'Items',
    'itemCount',
    'Quantità',
    'Quantidade',
    'Määrä',
    'Ilość',
    'Množství',
    'Mennyiség (db)',
    'Количество',
    'Кол-во',
    'Adet',
    '数量',
    '個数',
    '수량',
    'الكمية',
    'Qté commandée',
    'Nb',
    'Number of cards',
    'Qtd.',
    'Mængde',
    'Exemplaires',
  ])('is asked about: %s', async (name) => {
    const { code, text, lines } = await refusal(`${base},${name}`, '1,v,USD,3');
    expect([code, lines]).toEqual([expect.stringMatching(/^(?:unclear|unknown)_column$/), []]);
    expect(text).toContain('quantity');
    const named = await readDocument(`${base},${name}\n1,v,USD,3\n`, 'csv', {
      columns: { quantity: name },
    });
    expect(named.lines.map(({ quantity }) => quantity)).toEqual([3]);
    const none = await readDocument(`${base},${name}\n1,v,USD,3\n`, 'csv', {
      columns: { quantity: null },
    });
    expect(none.lines.map(({ quantity, extra }) => [quantity, extra])).toEqual([
      [1, { [name]: '3' }],
    ]);
  });

  it.each([
    ['holds small whole numbers', ['2', '1', '1']],
    ['holds them with decimals of zero', ['1.0', '3.0', '1,0']],
    ['holds them with a sign of multiplication', ['2x', '1 x', 'x3']],
    ['has a gap', ['2', '', '1']],
  ])('is asked about where its name says nothing, and it %s', async (_, cells) => {
    const rows = cells.map((cell, index) => `${index + 10},v,USD,"${cell}"`).join('\n');
    const { code, text, lines } = await refusal(`${base},Zahl X`, rows);
    expect([code, lines]).toEqual(['unclear_column', []]);
    expect(text).toContain('{ quantity: "Zahl X" }');
    expect(text).toContain('{ quantity: null }');
  });

  it.each([
    ['Name', ['Ann', 'Bob', '2']],
    ['Price', ['20', '10', '5']],
    ['Preis', ['20', '10', '5']],
    ['Face value', ['20', '50', '20']],
    ['Kundennummer', ['2', '3', '2']],
    ['customer_id', ['2', '3', '2']],
    ['Zip', ['2', '3', '2']],
    ['Hausnr.', ['2', '3', '2']],
    ['Jahr', ['26', '26', '27']],
    ['Row', ['1', '2', '3']],
    ['Flag', ['1', '1', '1']],
    ['Gift', ['0', '1', '0']],
    ['Points', ['1200', '2', '3']],
    ['Order amount', ['20.50', '10.00', '5.99']],
    ['Discount', ['2', '3', '2']],
    ['Country', ['US', 'DE', 'FR']],
    ['Account', ['a', 'b', 'c']],
    ['Nombre', ['Juan', 'Ana', 'Eva']],
    ['Units (old)', ['', '', '']],
  ])('is none of these, which are carried: %s', async (name, cells) => {
    const rows = cells.map((cell, index) => `${index + 10},v,USD,${cell}`).join('\n');
    const columns = name.startsWith('Units') ? { quantity: null } : {};
    const { code, lines } = await refusal(`${base},${name}`, rows, columns);
    expect([code, lines.map(({ quantity }) => quantity)]).toEqual([undefined, [1, 1, 1]]);
  });

  it('is not asked about beside a column of quantities', async () => {
    const { lines } = await refusal(`${base},quantity,Menge`, '1,v,USD,2,7');
    expect(lines.map(({ quantity, extra }) => [quantity, extra])).toEqual([[2, { Menge: '7' }]]);
  });
});

describe('a column that may be the currency or the line id', () => {
  it.each([
    ['currency', 'order_id,variant,Währung', '1,v,EUR'],
    ['currency', 'order_id,variant,Devise', '1,v,EUR'],
    ['currency', 'order_id,variant,Order currency', '1,v,EUR'],
    ['currency', 'order_id,variant,通貨', '1,v,EUR'],
    ['line_id', `${base},order-item-id`, '1,v,USD,77'],
    ['line_id', `${base},Transaction ID`, '1,v,USD,77'],
    ['line_id', `${base},Positionsnummer`, '1,v,USD,77'],
    ['line_id', `${base},Lineitem ID`, '1,v,USD,77'],
  ])('is asked about: %s in %s', async (column, header, row) => {
    const { code, text, lines } = await refusal(header, row);
    expect([code, lines]).toEqual([expect.stringMatching(/^(?:unclear|unknown)_column$/), []]);
    expect(text).toContain(`{ ${column}: `);
    expect((await refusal(header, row, { [column]: null })).lines).toHaveLength(1);
  });
});

it('a column under one of our names that is none of ours is carried', async () => {
  const { code, lines } = await refusal(`${base},Source`, '1,v,USD,web', { source: null });
  expect([code, lines.map(({ source, extra }) => [source, extra])]).toEqual([
    undefined,
    [['folder', { Source: 'web' }]],
  ]);
});

const quantityNames = [
  'quantity',
  'Menge',
  'Lineitem quantity',
  'cantidad',
  '数量',
  'Foo',
  'Spalte 7',
  'QTY',
  'amount',
];

it('no export buys another quantity than it says, whatever its columns are called, and in whatever order they stand', async () => {
  const rows = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 8 });
  const wrong: unknown[] = [];
  await fc.assert(
    fc.asyncProperty(
      rows,
      fc.constantFrom(...quantityNames),
      fc.nat(3),
      async (quantities, name, place) => {
        const at = <Cell>(cells: Cell[], cell: Cell): Cell[] => [
          ...cells.slice(0, place),
          cell,
          ...cells.slice(place),
        ];
        const header = at(['order_id', 'variant', 'currency'], name).join(',');
        const lines = quantities.map((quantity, index) =>
          at([`A${index}`, 'v', 'USD'], String(quantity)).join(','),
        );
        const read = await readDocument([header, ...lines, ''].join('\n'), 'csv');
        wrong.push(
          ...(read.error === null
            ? read.lines.filter(({ quantity }, index) => quantity !== quantities[index])
            : []),
        );
      },
    ),
    { numRuns: 500 },
  );
  expect(wrong).toEqual([]);
});
