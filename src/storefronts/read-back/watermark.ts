import type { Logger } from 'pino';
import { type Clock, isoTime } from '../../core/clock.ts';
import type { Storefronts } from '../../store/storefronts/storefronts.ts';
import type { ConnectedShop } from '../shop-connections.ts';
import { ShopApiError } from '../shop/shop-api.ts';

export interface WatermarkDeps {
  readonly shop: ConnectedShop;
  readonly store: Storefronts;
  readonly clock: Clock;
  readonly logger: Logger;
}

const hourMs = 3_600_000;
/**
 * A clock that is more than a day behind needs an operator: no order would be too old, and everything
 * the shop ever sold would be bought. A clock that is ahead only has more orders read again than
 * necessary.
 */
const wrongClockMs = 24 * hourMs;
/** Two correct clocks may differ by this much. */
const toleranceMs = 1000;
/** This program is younger. A machine without a clock battery starts in 1970. */
const earliestMs = Date.UTC(2026, 0, 1);

/**
 * How far a shop was read back, as a stored time of the shop's clock. It knows two clocks, the
 * shop's and this machine's, and both may be wrong. `clockAheadMs` is how far this machine's is
 * ahead; null: the shop has not told its time.
 */
export class Watermark {
  readonly #deps: WatermarkDeps;

  constructor(deps: WatermarkDeps) {
    this.#deps = deps;
  }

  async begin(): Promise<void> {
    const { store, shop, clock } = this.#deps;
    const nowMs = clock.wallMs();
    if (nowMs < earliestMs || (await store.watermark(shop.source)) !== null) return;
    await this.advance(nowMs - shop.lookbackH * hourMs);
  }

  /** The time from which a run reads. It is earlier when the clock of the shop is behind. */
  async startMs(clockAheadMs: number | null): Promise<number> {
    const { store, shop, clock } = this.#deps;
    const { lookbackH, rest } = shop;
    const aheadMs = Math.min(wrongClockMs, Math.max(0, clockAheadMs ?? 0));
    return (
      ((await store.watermark(shop.source)) ?? clock.wallMs() - lookbackH * hourMs) -
      rest.overlapS * 1000 -
      aheadMs
    );
  }

  /**
   * Never beyond this machine's clock: an order with a date in the future would hide all changes
   * until then.
   */
  async advance(readToMs: number): Promise<void> {
    const { store, shop, clock } = this.#deps;
    const nowMs = clock.wallMs();
    await store.advanceWatermark({ source: shop.source, modifiedMs: Math.min(readToMs, nowMs) });
  }

  /**
   * @throws ShopApiError `clock` when this machine's clock is so wrong that nothing may be bought
   * by it
   */
  checkClock(clockAheadMs: number | null): void {
    const nowMs = this.#deps.clock.wallMs();
    if (nowMs >= earliestMs && (clockAheadMs ?? 0) >= -wrongClockMs) return;
    const problem = `the clock of this machine shows ${isoTime(nowMs)}, more than a day behind the right time`;
    throw new ShopApiError('clock', `${problem}: no shop is read until this clock is right`);
  }

  /**
   * Called after the first answer to a list that began at `startMs(clockBeforeMs)`: whether it
   * began too late.
   */
  async beganTooLate(clockBeforeMs: number | null, clockAheadMs: number | null): Promise<boolean> {
    const { store, shop, clock, logger } = this.#deps;
    if (clockAheadMs === null) return false;
    if (Math.abs(clockAheadMs) > Math.max(60_000, shop.rest.overlapS * 1000)) {
      logger.warn({ ahead_ms: clockAheadMs }, 'the clocks of this machine and of the shop differ');
    }
    this.checkClock(clockAheadMs);
    // A clock that was ahead has set a watermark in the future at the first start: until then
    // nothing would be read. It is lowered to the later of both clocks, because orders from before
    // the first start are never bought.
    const nowMs = clock.wallMs();
    const presentMs = nowMs + Math.max(0, -clockAheadMs) + toleranceMs;
    const wasLowered = await store.lowerWatermark({ source: shop.source, presentMs });
    if (wasLowered) {
      logger.warn(
        { to: isoTime(presentMs) },
        'the shop was marked as read up to a time in the future: this time is set to now',
      );
    }
    return wasLowered || (clockBeforeMs === null && clockAheadMs >= toleranceMs);
  }
}
