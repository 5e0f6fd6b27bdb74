import { assert } from '../../core/order-sync-error.ts';
import type { Outcome } from '../../core/answers/outcome.ts';
import type { ExactJson } from '../../core/exact-json.ts';
import { countIn, firstAt, listIn, textIn } from '../connector/answer-values.ts';
import type { CatalogueWire } from '../connector/wire-catalogue.ts';
import { itemKey, type ItemReader } from './catalogue-item.ts';

/** One page of a catalogue list. */
export interface CataloguePage<T> {
  readonly items: readonly { readonly key: string; readonly item: T }[];
  readonly next: string | null;
  readonly lastPage: number | null;
}

/** Reads a page; null when the answer has no list. Never throws. */
export function readCataloguePage<T>(
  answer: ExactJson,
  readItem: ItemReader<T>,
  wire: CatalogueWire,
): CataloguePage<T> | null {
  const list = firstAt(answer, wire.lists, listIn);
  if (list === null) return null;
  const items = list.flatMap((element) => {
    const key = itemKey(element, wire);
    return key === null ? [] : [{ key, item: readItem(key, element, wire) }];
  });
  return {
    items,
    next: firstAt(answer, wire.paging.next, textIn),
    lastPage: firstAt(answer, wire.paging.last_page, countIn),
  };
}

/**
 * The result of one request. After a failed one the walk is where it was: the same page can be read
 * again.
 */
export type WalkStep<T> =
  | { readonly kind: 'page'; readonly items: readonly T[] }
  | { readonly kind: 'failed'; readonly outcome: Outcome };

export interface WalkCall {
  readonly keyValue: string;
  readonly signal?: AbortSignal;
}

/** Fetches one page with exactly one HTTP request. */
export type PageFetch<T> = (
  path: string,
  call: WalkCall,
) => Promise<{ kind: 'page'; page: CataloguePage<T> } | { kind: 'failed'; outcome: Outcome }>;

interface WalkOptions<T> {
  readonly path: string;
  readonly paging: CatalogueWire['paging'];
  readonly origin: string;
  readonly basePath: string;
  readonly fetch: PageFetch<T>;
}

function withParameter(path: string, name: string, value: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
}

/**
 * A catalogue list, read page by page. Each `read` is one HTTP request, because the caller takes a
 * budget slot for each. An item that comes again on a later page is omitted. The walk is done after
 * the last page, after a page without a new key (a server that ignores the page number sends the
 * same page again), and at the limit of pages.
 *
 * ```ts
 * const walk = client.products();
 * while (!walk.done) {
 *   const step = await walk.read({ keyValue });
 *   if (step.kind === 'failed') break; // look at step.outcome; the same page may be read again
 *   for (const product of step.items) console.log(product.variant, product.currencies);
 * }
 * ```
 */
export class CatalogueWalk<T> {
  readonly #options: WalkOptions<T>;
  readonly #start: string;
  readonly #seen = new Set<string>();
  #path: string | null;
  #pages = 0;
  #incomplete: string | null = null;

  constructor(options: WalkOptions<T>) {
    const { path, paging } = options;
    this.#options = options;
    this.#start =
      paging.mode === 'off' || paging.size_param === 'off'
        ? path
        : withParameter(path, paging.size_param, String(paging.size));
    this.#path =
      paging.mode === 'page'
        ? withParameter(this.#start, paging.page_param, String(paging.first_page))
        : this.#start;
  }

  get done(): boolean {
    return this.#path === null;
  }

  /** Why the list may have more pages than were read; null when it was read to its end. */
  get incomplete(): string | null {
    return this.#incomplete;
  }

  /** Reads the next page. Only while not `done`. */
  async read(call: WalkCall): Promise<WalkStep<T>> {
    assert(this.#path !== null, 'no page of the catalogue is read after the last one');
    const result = await this.#options.fetch(this.#path, call);
    if (result.kind === 'failed') return result;
    const { page } = result;
    this.#pages += 1;
    const fresh = page.items.filter(({ key }) => {
      const isNew = !this.#seen.has(key);
      this.#seen.add(key);
      return isNew;
    });
    this.#path = this.#nextPath(page, fresh.length);
    return { kind: 'page', items: fresh.map(({ item }) => item) };
  }

  #nextPath(page: CataloguePage<T>, fresh: number): string | null {
    const { paging } = this.#options;
    const announced = page.next !== null || (page.lastPage !== null && page.lastPage > this.#pages);
    if (paging.mode === 'off') {
      if (announced)
        this.#incomplete = 'the answer links to a next page, but catalogue.paging.mode is off';
      return null;
    }
    if (fresh === 0) return null;
    const next = paging.mode === 'page' ? this.#countedPath(page) : this.#namedPath(page);
    if (next !== null && this.#pages >= paging.max_pages) {
      this.#incomplete = `there are more than ${paging.max_pages} pages`;
      return null;
    }
    return next;
  }

  #countedPath(page: CataloguePage<T>): string | null {
    const { page_param, first_page } = this.#options.paging;
    if (page.lastPage !== null && this.#pages >= page.lastPage) return null;
    return withParameter(this.#start, page_param, String(first_page + this.#pages));
  }

  #namedPath(page: CataloguePage<T>): string | null {
    const { paging, origin, basePath } = this.#options;
    if (page.next === null) return null;
    if (!/^(https?:|\/)/i.test(page.next))
      return withParameter(this.#start, paging.token_param, page.next);
    const url = URL.canParse(page.next, origin) ? new URL(page.next, origin) : null;
    const below = url !== null && `${url.pathname}/`.startsWith(`${basePath}/`);
    // Every request carries the API key: it must not go to another server because an answer names
    // one.
    if (url === null || url.origin !== origin || !below) {
      this.#incomplete = 'the next page is outside of wholesale.base_url';
      return null;
    }
    return `${url.pathname.slice(basePath.length)}${url.search}`;
  }
}
