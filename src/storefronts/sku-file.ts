import { readFileSync, statSync } from 'node:fs';
import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import type { SkuMap } from '../core/order/sku.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { readSkuMap, SkuMapError, type SkuMapMistake } from './sku-map.ts';

/** The file is checked for a change at most this often. */
const checkEveryMs = 1000;
/** A changed file is read when it is this old: its writer may not have finished, and a part of a map sells wrong things. */
const minAgeMs = 2000;

/**
 * The SKU map of a file, read again when the file changes. A change that cannot be read is logged once, and the last good
 * map stays in use, so a typing mistake does not stop the shop. It also stays while the file is being written.
 */
export class SkuFile {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #map: SkuMap;
  #version: string;
  /** A version that may still be written, and when it was first seen. */
  #pending: { readonly version: string; readonly sinceMs: number } | null = null;
  #checkedAtMs: number;
  #problem: string | null = null;

  /** @throws OrderSyncError CONFIG_INVALID when the file cannot be used */
  constructor(path: string, clock: Clock, logger: Logger) {
    this.#path = path;
    this.#clock = clock;
    this.#logger = logger;
    this.#checkedAtMs = clock.monoMs();
    try {
      this.#version = versionOf(path);
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
    if (nowMs - this.#checkedAtMs < checkEveryMs) return this.#map;
    this.#checkedAtMs = nowMs;
    try {
      const version = versionOf(this.#path);
      if (version === this.#version || !this.#isFinished(version, nowMs)) return this.#map;
      this.#version = version;
      const map = load(this.#path);
      // It changed while it was read: the next check reads it again.
      if (versionOf(this.#path) !== version) return this.#map;
      this.#map = map;
      this.#problem = null;
      this.#logger.info({ file: this.#path, skus: this.#map.size }, 'the changed SKU map is in use');
    } catch (error) {
      const problem = messageOf(error);
      const details = { file: this.#path, problem };
      if (problem !== this.#problem)
        this.#logger.error(details, 'the changed SKU map cannot be used; the last good one stays in use');
      this.#problem = problem;
    }
    return this.#map;
  }

  /** By the time of the file, because the last check may be hours ago. A time in the future says nothing: two checks do. */
  #isFinished(version: string, nowMs: number): boolean {
    const ageMs = this.#clock.wallMs() - statSync(this.#path).mtimeMs;
    if (ageMs >= minAgeMs) return true;
    if (this.#pending?.version !== version) this.#pending = { version, sinceMs: nowMs };
    return nowMs - this.#pending.sinceMs >= minAgeMs;
  }
}

/** Why a worker could not start with this file, each mistake by itself; empty: it could. */
export function mistakesOfSkuFile(path: string): readonly SkuMapMistake[] {
  try {
    load(path);
    return [];
  } catch (error) {
    if (error instanceof SkuMapError) return error.mistakes;
    return [{ line: null, path: '', rule: `cannot be read: ${messageOf(error)}` }];
  }
}

function load(path: string): SkuMap {
  return readSkuMap(readFileSync(path, 'utf8'), path.toLowerCase().endsWith('.csv') ? 'csv' : 'yaml');
}

/** Time, size and inode: some editors write a new file, others write into the old one. */
function versionOf(path: string): string {
  const { mtimeNs, size, ino } = statSync(path, { bigint: true });
  return `${mtimeNs}:${size}:${ino}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
