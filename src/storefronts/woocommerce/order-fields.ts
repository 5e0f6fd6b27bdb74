import { isObject, listOf } from '../shop/payload-values.ts';
import type { ShopOrder } from '../shop/shop-order.ts';
import { codesJson, type LineStatement, type OrderStatement, resultJson, unitFields } from '../shop/order-statement.ts';

/** A field of an order or of one of its lines; the platform calls these meta data. */
export interface OrderField {
  readonly key: string;
  readonly value: string;
}

/** The texts of each field: a shop may have several fields with one key. */
export type FieldValues = ReadonlyMap<string, readonly string[]>;

/** An order as the shop shows it now, as far as write-back needs it. */
export interface OrderNow {
  readonly order: ShopOrder;
  readonly total: string;
  readonly fields: FieldValues;
  readonly lines: ReadonlyMap<string, { readonly name: string; readonly fields: FieldValues }>;
}

/** The fields that write-back uses. The shop itself shows nobody the fields that begin with an underscore. */
export const fieldKeys = {
  state: '_order_sync_state',
  result: '_order_sync_result',
  codes: '_order_sync_codes',
  notes: '_order_sync_notes',
  /** Shown to the customer, in mails and in the account. */
  lineCodes: 'Code',
} as const;

/** @param order what was read from this document */
export function orderNow(value: unknown, order: ShopOrder): OrderNow {
  const document = isObject(value) ? value : {};
  const items = (listOf(document['line_items']) ?? []).filter(isObject);
  return {
    order,
    total: textOf(document['total']),
    fields: valuesOf(document['meta_data']),
    lines: new Map(
      items.map((item) => [String(item['id']), { name: textOf(item['name']), fields: valuesOf(item['meta_data']) }]),
    ),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function valuesOf(entries: unknown): FieldValues {
  const values = new Map<string, string[]>();
  for (const entry of (listOf(entries) ?? []).filter(isObject)) {
    const { key, value } = entry;
    if (typeof key !== 'string') continue;
    values.set(key, [...(values.get(key) ?? []), typeof value === 'string' ? value : JSON.stringify(value)]);
  }
  return values;
}

/** The fields that the shop lacks, or has with another value. */
export function missingFields(wanted: readonly OrderField[], now: FieldValues): readonly OrderField[] {
  return wanted.filter(({ key, value }) => {
    const [first, ...others] = now.get(key) ?? [];
    return first !== value || others.length > 0;
  });
}

/** The result, for programs. It has no codes. */
export function resultFields(statement: OrderStatement): readonly OrderField[] {
  return [
    { key: fieldKeys.state, value: statement.state },
    { key: fieldKeys.result, value: resultJson(statement) },
  ];
}

/** The units of these lines, for a theme or a plugin that shows them. */
export function codesField(given: readonly LineStatement[]): readonly OrderField[] {
  return given.length === 0 ? [] : [{ key: fieldKeys.codes, value: codesJson(given) }];
}

/** @param withCodes whether the line shows its units to the customer */
export function lineFields(line: LineStatement, withCodes: boolean): readonly OrderField[] {
  const units = line.units.map((unit) =>
    unitFields(unit)
      .map(({ label, value }) => (label === fieldKeys.lineCodes ? value : `${label}: ${value}`))
      .join(', '),
  );
  const codes = withCodes && units.length > 0 ? [{ key: fieldKeys.lineCodes, value: units.join('\n') }] : [];
  return [{ key: fieldKeys.state, value: line.state }, ...codes];
}
