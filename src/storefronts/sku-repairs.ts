import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import { takeFlaggedCommandSchema, type StoreCommand } from '../core/entry/operator-command.ts';
import { hasCode } from '../core/order-sync-error.ts';
import { familyOf, type Family } from '../core/order/operation.ts';
import { purchaseOf } from '../core/order/purchase.ts';
import type { SkuMap } from '../core/order/sku.ts';
import type { OutboxReader } from '../store/read/outbox-reader.ts';
import { lineForFlag, newRequestFor } from './remapped-lines.ts';
import type { ShopHandler, StorefrontIntake } from './storefront-intake.ts';

interface SkuRepairsDeps {
  /** The shops that are configured now. */
  readonly intake: () => StorefrontIntake;
  readonly read: Pick<OutboxReader, 'repairable' | 'mappedLine' | 'flaggedSku'>;
  /** Performs a command as if a person had given it. Throws OrderSyncError REFUSED and NOT_FOUND. */
  readonly perform: (command: StoreCommand) => Promise<unknown>;
  /** The families whose orders the API can be asked for. */
  readonly lookupFamilies: () => readonly Family[];
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: 5 s. */
  readonly everyMs?: number;
}

const everyMs = 5000;
const reason = 'the SKU map was corrected (repair: auto)';

/**
 * For shops with `repair: auto`: orders what a wrong SKU map has asked for, or has not known, as soon as the map is
 * corrected, and after a start. A line is ordered anew once; what was acknowledged, or is older than `max_age_h`, never.
 *
 * Another reference is used only where the API can be asked for it: after a loss of the outbox, nobody would know that it
 * was bought under that one, and the line would be bought again.
 */
export class SkuRepairs {
  readonly #deps: SkuRepairsDeps;
  readonly #end = new AbortController();
  /** The map with which the lines of a shop were compared last. */
  readonly #compared = new WeakMap<ShopHandler, SkuMap>();
  #loop: Promise<void> | null = null;

  constructor(deps: SkuRepairsDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** May be called again. */
  async stop(): Promise<void> {
    this.#end.abort();
    await this.#loop;
  }

  /** Compares the lines of each shop whose map has changed. */
  async check(): Promise<void> {
    for (const handler of this.#deps.intake().all()) {
      const skus = handler.skus();
      if (handler.shop.repair !== 'auto' || this.#compared.get(handler) === skus) continue;
      await this.#repair(handler, skus);
      this.#compared.set(handler, skus);
    }
  }

  async #run(): Promise<void> {
    const { clock, logger, everyMs: idleMs = everyMs } = this.#deps;
    const { signal } = this.#end;
    let problem: string | null = null;
    while (!signal.aborted) {
      try {
        await this.check();
        problem = null;
      } catch (error) {
        // The next check begins anew: what was ordered is not found again. It is logged once, as it may fail for hours.
        if (String(error) !== problem)
          logger.error({ err: error }, 'lines could not be compared with the changed SKU map');
        problem = String(error);
      }
      await clock.sleep(idleMs, signal);
    }
  }

  async #repair({ shop }: ShopHandler, skus: SkuMap): Promise<void> {
    const { read, clock, lookupFamilies } = this.#deps;
    const nowMs = clock.wallMs();
    const who = { actor: `${shop.platform}:${shop.shop}`, reason };
    const { source } = shop;
    const { references, flags } = read.repairable({ source, sinceMs: nowMs - shop.maxAgeH * 3_600_000, nowMs });
    for (const reference of references) {
      await this.#try(reference, () => {
        const line = read.mappedLine(reference);
        if (line === null) return null;
        const as = newRequestFor(line, { ...shop, shop }, skus, nowMs);
        if (!lookupFamilies().includes(familyOf(as.operation))) return null;
        // With other rules alone, the API would be asked for the same again.
        if (isDeepStrictEqual(purchaseOf(as), purchaseOf(line))) return null;
        return { action: 'reorder', reference, confirm: reference, as, ...who };
      });
    }
    for (const id of flags) {
      await this.#try(id, () => {
        const flag = read.flaggedSku(id);
        if (flag === null) return null;
        const line = { ...lineForFlag(flag, shop, skus, nowMs), lineNumber: null };
        return takeFlaggedCommandSchema.parse({ action: 'take_flagged', id, line, ...who });
      });
    }
  }

  /** A line that the map does not order, or that changed meanwhile, stays in the attention list. */
  async #try(subject: string, commandFor: () => StoreCommand | null): Promise<void> {
    const { perform, logger } = this.#deps;
    if (this.#end.signal.aborted) return;
    try {
      const command = commandFor();
      if (command === null) return;
      await perform(command);
      logger.warn({ subject }, 'ordered anew: the SKU map was corrected');
    } catch (error) {
      if (!hasCode(error, 'REFUSED') && !hasCode(error, 'NOT_FOUND')) throw error;
      logger.info({ subject, reason: error.message }, 'not ordered anew by the changed SKU map');
    }
  }
}
