import { dirname } from 'node:path';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { freeBytesOf, freeSpace } from './disk-errors.ts';

/**
 * Keeps space free on the disk of the outbox: what is sent and delivered for the orders that it has must be recorded. New
 * orders are refused before that space is used, whatever way they come. What concerns a known order is taken in: it may
 * take something back.
 */
export class DiskReserve {
  readonly #folder: string;
  readonly #minFreeBytes: () => number;

  /** @param minFreeBytes how much must be free, as it is configured now */
  constructor(databasePath: string, minFreeBytes: () => number) {
    this.#folder = dirname(databasePath);
    this.#minFreeBytes = minFreeBytes;
  }

  /** @throws OrderSyncError DISK_FULL when there is no space for a new order */
  require(): void {
    const neededBytes = this.#minFreeBytes();
    if (neededBytes === 0) return;
    const freeBytes = freeBytesOf(this.#folder);
    if (freeBytes >= neededBytes) return;
    const message = `The disk of ${this.#folder} is nearly full, so no new orders are taken in: ${freeBytes} bytes are free, ${neededBytes} are needed (disk.min_free_bytes)`;
    throw new OrderSyncError('DISK_FULL', message, { hint: freeSpace });
  }
}
