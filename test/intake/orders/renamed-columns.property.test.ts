import { stringify } from 'csv-stringify/sync';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { SkuMap } from '../../../src/core/order/sku-map.ts';
import { proposalFor } from '../../../src/intake/orders/propose-columns.ts';
import type { ColumnMapping } from '../../../src/intake/orders/settings.ts';
import { parse } from 'yaml';
import { readDocument } from './read-document.ts';

const skus = new SkuMap(
  ['STEAM-20', 'XBOX-10'].map((sku) => [
    sku,
    { type: 'gift_card_order', variant: sku, quantity: 1 },
  ]),
);

/** Names of columns as shops, marketplaces and people in several languages write them. */
const names = {
  order_id: [
    'order_id',
    'Order ID',
    'Order Number',
    'Bestellnummer',
    'N° de commande',
    'Número de pedido',
    'Numero ordine',
    'Bestelnummer',
    'Номер заказа',
    '注文番号',
    '订单号',
    'Ordrenummer',
    'Numer zamówienia',
  ],
  sku: [
    'sku',
    'SKU',
    'Lineitem sku',
    'Product SKU',
    'Artikelnummer',
    'Référence produit',
    'Código',
    'Codice articolo',
    'Артикул',
    '商品コード',
    '상품코드',
  ],
  quantity: [
    'quantity',
    'Qty',
    'Lineitem quantity',
    'quantity-purchased',
    'qty_ordered',
    'Units',
    'Pieces',
    'Menge',
    'Anzahl',
    'Stückzahl',
    'Quantité',
    'Cantidad',
    'Quantità',
    'Quantidade',
    'Aantal',
    'Antal',
    'Määrä',
    'Ilość',
    'Množství',
    'Mennyiség',
    'Количество',
    'Adet',
    '数量',
    '個数',
    '수량',
    'الكمية',
  ],
  price: ['Price', 'Preis', 'Prix', 'Precio', 'Lineitem price', '価格', 'unit_price'],
  customer: ['Customer', 'Kunde', 'Client', 'E-mail', 'Billing name', 'Cliente'],
  note: ['Note', 'Notiz', 'Remarque', 'Comment', 'Gift message'],
} as const;
type Column = keyof typeof names;
const columns: readonly Column[] = ['order_id', 'sku', 'quantity', 'price', 'customer', 'note'];

const around = fc.constantFrom('', ' ', '_', '-');
/** Names that say nothing: only the cells tell. */
const unknown = ['X17', 'Feld 3', 'col_d', 'Sold'];

/** A name, in some of the forms in which programs write one. */
const headerOf = (column: Column) =>
  fc
    .tuple(
      // Ours often enough that many files are read.
      fc.oneof(
        fc.constantFrom(...names[column]),
        fc.constantFrom(...(column === 'quantity' ? unknown : [column])),
      ),
      fc.constantFrom('as it is', 'upper', 'lower'),
      around,
    )
    .map(([name, letters, between]) => {
      const text =
        letters === 'upper' ? name.toUpperCase() : letters === 'lower' ? name.toLowerCase() : name;
      return between === '' ? text : text.replaceAll(/[ _-]/g, between);
    });

const row = fc.record({
  sku: fc.constantFrom('STEAM-20', 'XBOX-10'),
  quantity: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 99 })),
  price: fc.constantFrom('20.00', '19,99', '5'),
  customer: fc.constantFrom('Ann', 'Bob Miller', ''),
  note: fc.constantFrom('', 'Dear Ann', '2 of us'),
});
const exported = fc.record({
  rows: fc.array(row, { minLength: 1, maxLength: 6 }),
  headers: fc.record({
    order_id: headerOf('order_id'),
    sku: headerOf('sku'),
    quantity: headerOf('quantity'),
    price: headerOf('price'),
    customer: headerOf('customer'),
    note: headerOf('note'),
  }),
  order: fc.shuffledSubarray([...columns], { minLength: columns.length }),
  /** Whether the export has it at all. */
  hasNote: fc.boolean(),
  delimiter: fc.constantFrom(',', ';', '\t'),
});

it('an export with any names of columns, in any order, is never bought with another quantity than it says', async () => {
  let bought = 0;
  let proposed = 0;
  await fc.assert(
    fc.asyncProperty(exported, async ({ rows, headers, order, hasNote, delimiter }) => {
      const shown = order.filter((column) => hasNote || column !== 'note');
      const cells = rows.map((cell, index) =>
        shown.map((column) => (column === 'order_id' ? `A${index + 1}` : cell[column])),
      );
      const text = stringify([shown.map((column) => headers[column]), ...cells], { delimiter });
      const wanted = rows.map(({ quantity }, index) => `A${index + 1} ${quantity}`);
      const check = async (mapping: ColumnMapping) => {
        const { error, lines } = await readDocument(text, 'csv', {
          skus,
          currency: 'USD',
          columns: mapping,
        });
        const read = lines.map(({ orderId, quantity }) => `${orderId} ${quantity}`);
        // A file that is not refused has no column that could be the quantity: then each row says
        // 1.
        expect(error === null ? read : wanted).toEqual(wanted);
        bought += read.length;
        return error;
      };
      const error = await check({});
      const lines: readonly string[] = error === null ? [] : proposalFor(error.columns);
      const { columns: mapping } = parse(lines.join('\n')) ?? {};
      if (mapping === undefined) return;
      proposed += 1;
      await check(mapping);
    }),
    { numRuns: 1500 },
  );
  // It says nothing where hardly a file is read.
  expect([bought > 1000, proposed > 500]).toEqual([true, true]);
});
