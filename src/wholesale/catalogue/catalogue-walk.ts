import { assert } from '../../core/order-sync-error.ts';
import type { Outcome } from '../../core/decision/outcome.ts';
import type { CataloguePage } from './catalogue-page.ts';
import type { CatalogueWire } from '../connector/wire-catalogue.ts';

type Paging = CatalogueWire['paging'];

/** What one request of a walk brought. A failed one leaves the walk where it was: it may be made again later. */
export type WalkStep<T> =
  | { readonly kind: 'page'; readonly items: readonly T[] }
  | { readonly kind: 'failed'; readonly outcome: Outcome };

export interface WalkCall {
  readonly keyValue: string;
  readonly signal?: AbortSignal;
}

/** Fetches one page: exactly one HTTP request. */
export type PageFetch<T> = (
  path: string,
  call: WalkCall,
) => Promise<{ kind: 'page'; page: CataloguePage<T> } | { kind: 'failed'; outcome: Outcome }>;

function withParameter(path: string, name: string, value: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
}

/**
 * A catalogue list, read page by page. Each `read` is one HTTP request, so that the caller takes a budget slot for
 * each; an item that comes again on a later page is left out. The walk is done on the last page, on an empty one, on
 * one that brings no new key (a server that ignores the page number repeats itself), and at the cap on pages.
 *
 * ```ts
 * const walk = client.products();
 * while (!walk.done) {
 *   const step = await walk.read({ keyValue });
 *   if (step.kind === 'failed') break; // look at step.outcome; the same page may be read again
 *   for (const product of step.items) console.log(product.variant, product.prices.USD);
 * }
 * ```
 */
export class CatalogueWalk<T> {
  readonly #start: string;
  readonly #paging: Paging;
  readonly #origin: string;
  readonly #basePath: string;
  readonly #fetch: PageFetch<T>;
  readonly #seen = new Set<string>();
  #path: string | null;
  #pages = 0;
  #incomplete: string | null = null;

  constructor(options: { path: string; paging: Paging; origin: string; basePath: string; fetch: PageFetch<T> }) {
    this.#paging = options.paging;
    this.#origin = options.origin;
    this.#basePath = options.basePath;
    this.#fetch = options.fetch;
    const { paging } = options;
    this.#start =
      paging.mode === 'off' || paging.size_param === 'off'
        ? options.path
        : withParameter(options.path, paging.size_param, String(paging.size));
    this.#path =
      paging.mode === 'page' ? withParameter(this.#start, paging.page_param, String(paging.first_page)) : this.#start;
  }

  /** True when there is nothing more to read. */
  get done(): boolean {
    return this.#path === null;
  }

  /** Why the list that was read is perhaps not the whole one; null when nothing speaks for that. */
  get incomplete(): string | null {
    return this.#incomplete;
  }

  /** Reads the next page, with one HTTP request. Only while not `done`. */
  async read(call: WalkCall): Promise<WalkStep<T>> {
    assert(this.#path !== null, 'a walk is read only while it is not done');
    const result = await this.#fetch(this.#path, call);
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
    const paging = this.#paging;
    const announced = page.next !== null || (page.lastPage !== null && page.lastPage > this.#pages);
    if (paging.mode === 'off') {
      if (announced) this.#incomplete = 'the answer names a next page, but catalogue.paging.mode is off';
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
    const { page_param, first_page } = this.#paging;
    if (page.lastPage !== null && this.#pages >= page.lastPage) return null;
    return withParameter(this.#start, page_param, String(first_page + this.#pages));
  }

  #namedPath(page: CataloguePage<T>): string | null {
    if (page.next === null) return null;
    if (!/^(https?:|\/)/i.test(page.next)) return withParameter(this.#start, this.#paging.token_param, page.next);
    const url = URL.canParse(page.next, this.#origin) ? new URL(page.next, this.#origin) : null;
    const below = url !== null && `${url.pathname}/`.startsWith(`${this.#basePath}/`);
    // The key goes along with every request: it is not carried to another server because an answer says so.
    if (url === null || url.origin !== this.#origin || !below) {
      this.#incomplete = 'the answer names a next page outside the base address';
      return null;
    }
    return `${url.pathname.slice(this.#basePath.length)}${url.search}`;
  }
}
