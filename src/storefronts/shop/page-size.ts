import { ShopApiError } from './shop-api.ts';

/** A program that ends without memory also answers with a part, or with something else. */
export const tooMuch: readonly ShopApiError['kind'][] = [
  'unavailable',
  'unreachable',
  'unreadable',
];

/**
 * How many orders a shop can show at once: fewer after a page at which it fails, and more again
 * after good ones.
 */
export class PageSize {
  readonly #most: number;
  #size: number;

  constructor(most: number) {
    this.#most = most;
    this.#size = most;
  }

  /**
   * Reads a page; returns the failure where the shop cannot show even one order.
   * @param answers the smallest question: where it fails, too, the shop is down, and the failure is
   * thrown
   */
  async read<Page>(
    page: (size: number) => Promise<Page>,
    answers: () => Promise<unknown>,
  ): Promise<Page | ShopApiError> {
    for (;;) {
      const size = this.#size;
      try {
        const read = await page(size);
        this.#size = Math.min(this.#most, Math.ceil(size * 1.25) + 1);
        return read;
      } catch (error) {
        if (!(error instanceof ShopApiError) || !tooMuch.includes(error.kind)) throw error;
        if (!(await answers().then(Boolean, () => false))) throw error;
        this.#size = Math.max(1, Math.floor(size / 2));
        if (size === 1) return error;
      }
    }
  }
}
