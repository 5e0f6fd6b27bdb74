/** One shop has most orders, and one hardly any. */
const shops: readonly (readonly [source: string, ofThousand: number])[] = [
  ['big', 500],
  ['second', 400],
  ['small', 99],
  ['tiny', 1],
];
const products = 200;

function shopOf(index: number): string {
  let place = (index * 37) % 1000;
  for (const [source, ofThousand] of shops) {
    place -= ofThousand;
    if (place < 0) return source;
  }
  return 'big';
}

/**
 * A CSV file of several shops: each row is an order of one line, with what an operator searches by.
 */
export function csvOfShops(first: number, count: number): string {
  const rows = Array.from({ length: count }, (_, index) => {
    const at = first + index;
    return `${shopOf(at)},order-${at},card-${(at * 7) % products},USD,customer${at % 50_000}@example.com`;
  });
  return `source,order_id,variant,currency,email\n${rows.join('\n')}\n`;
}
