import { isJsonList, type ExactJson } from '../../core/exact-json.ts';
import { firstAt, textIn, valueAt } from '../connector/answer-values.ts';
import { itemKey } from './catalogue-item.ts';
import type { CatalogueWire } from '../connector/wire-catalogue.ts';

/** What one answer of a catalogue call holds. */
export interface CataloguePage<T> {
  readonly items: readonly { readonly key: string; readonly item: T }[];
  /** Where the answer says that the next page is, if it says so. */
  readonly next: string | null;
  /** How many pages there are, if the answer says so. */
  readonly lastPage: number | null;
}

/** Reads a page; null when no list can be found in the answer. Never throws. */
export function readCataloguePage<T>(
  answer: ExactJson,
  readItem: (element: ExactJson, wire: CatalogueWire) => T | null,
  wire: CatalogueWire,
): CataloguePage<T> | null {
  let list: readonly ExactJson[] | null = null;
  for (const path of wire.lists) {
    const value = valueAt(answer, path);
    if (isJsonList(value)) {
      list = value;
      break;
    }
  }
  if (list === null) return null;
  const items = list.flatMap((element) => {
    const key = itemKey(element, wire);
    const item = readItem(element, wire);
    return key === null || item === null ? [] : [{ key, item }];
  });
  return {
    items,
    next: firstAt(answer, wire.paging.next, textIn),
    lastPage: firstAt(answer, wire.paging.last_page, (value) =>
      typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : null,
    ),
  };
}
