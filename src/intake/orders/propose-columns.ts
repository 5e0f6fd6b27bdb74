import { mayMean } from './column-words.ts';
import { placeOf, saysPaid } from './csv-columns.ts';
import { shopFormats } from './csv-formats.ts';

const mapped = ['order_id', 'quantity', 'currency', 'line_id', 'sku'] as const;

/**
 * Lines of the configuration by which a file with these columns may be read; empty: nothing is like
 * what we know.
 */
export function proposalFor(columns: readonly string[]): readonly string[] {
  const names = columns.filter((name) => name !== '');
  const has = (wanted: readonly string[] | null | undefined): boolean =>
    placeOf(names, wanted ?? []) !== null;
  for (const [name, { columns: known, rules }] of shopFormats()) {
    const isWhole = has(known.order_id) && has(known.sku) && has(known.quantity);
    const required = rules.filter(({ isOptional }) => !isOptional);
    const found =
      required.length > 0
        ? required.every((rule) => has(rule.columns))
        : rules.some((rule) => has(rule.columns));
    if (isWhole && found) return [`format: ${name}`];
  }
  const left = new Set(names);
  const pairs = mapped.flatMap((column) => {
    if (has([column])) return [];
    const found = [...left].find((name) => mayMean(column, name) && !saysPaid(name));
    if (found === undefined) return [];
    left.delete(found);
    return [`${column}: ${JSON.stringify(found)}`];
  });
  const only = names.filter(saysPaid).map((name) => `${JSON.stringify(name)}: [paid]`);
  return [
    ...(pairs.length > 0 ? [`columns: { ${pairs.join(', ')} }`] : []),
    ...(only.length > 0
      ? [`only: { ${only.join(', ')} } # with the values that paid rows have in this column`]
      : []),
  ];
}
