import { readFileSync, statSync } from 'node:fs';
import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { readSkuMap, type SkuMap } from './sku-map.ts';

/** How often the file is looked at, at most. */
const lookEveryMs = 1000;
/** For how long it must have stood still: whoever writes it may not be done, and half a map sells other things. */
const stillMs = 2000;

/**
 * The SKU map of a file, read again when the file changes. A change that cannot be read is reported once, and the last
 * good map stays: a typing mistake must not stop the shop. So does it while the file is being written.
 */
export class SkuFile {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #map: SkuMap;
  #stamp: string;
  /** What it looked like at the last look where that may have been half of it, and since when. */
  #begun: { readonly stamp: string; readonly sinceMs: number } | null = null;
  #lookedAtMs: number;
  #problem: string | null = null;

  /** Throws CONFIG_INVALID when the file cannot be used. */
  constructor(path: string, clock: Clock, logger: Logger) {
    this.#path = path;
    this.#clock = clock;
    this.#logger = logger;
    this.#lookedAtMs = clock.monoMs();
    try {
      this.#stamp = stampOf(path);
      this.#map = load(path);
    } catch (cause) {
      throw new OrderSyncError('CONFIG_INVALID', `The SKU map ${path} cannot be used: ${messageOf(cause)}`, {
        hint: 'correct the file that sku_map names; its form is shown in docs/storefronts.md',
        cause,
      });
    }
  }

  /** Why the newest version of the file is not in use; null when it is. */
  get problem(): string | null {
    return this.#problem;
  }

  current(): SkuMap {
    const nowMs = this.#clock.monoMs();
    if (nowMs - this.#lookedAtMs < lookEveryMs) return this.#map;
    this.#lookedAtMs = nowMs;
    try {
      const stamp = stampOf(this.#path);
      if (stamp === this.#stamp || !this.#isStill(stamp, nowMs)) return this.#map;
      this.#stamp = stamp;
      const map = load(this.#path);
      // Changed while it was read: the next look finds it.
      if (stampOf(this.#path) !== stamp) return this.#map;
      this.#map = map;
      this.#problem = null;
      this.#logger.info({ file: this.#path, skus: this.#map.size }, 'the SKU map was read again');
    } catch (error) {
      const problem = messageOf(error);
      if (problem !== this.#problem) {
        this.#logger.error(
          { file: this.#path, problem },
          'the changed SKU map cannot be used; the last good one stays',
        );
      }
      this.#problem = problem;
    }
    return this.#map;
  }

  /** By the file's own time, because nobody may have asked for hours; where that is of no use, by two looks. */
  #isStill(stamp: string, nowMs: number): boolean {
    const ageMs = this.#clock.wallMs() - statSync(this.#path).mtimeMs;
    if (ageMs >= stillMs) return true;
    if (this.#begun?.stamp !== stamp) this.#begun = { stamp, sinceMs: nowMs };
    return nowMs - this.#begun.sinceMs >= stillMs;
  }
}

function load(path: string): SkuMap {
  return readSkuMap(readFileSync(path, 'utf8'), path.toLowerCase().endsWith('.csv') ? 'csv' : 'yaml');
}

/** Time, size and inode: an editor writes a new file, a person writes into the old one. */
function stampOf(path: string): string {
  const { mtimeNs, size, ino } = statSync(path, { bigint: true });
  return `${mtimeNs}:${size}:${ino}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
