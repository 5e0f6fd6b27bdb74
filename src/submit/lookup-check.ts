import { familyOf, type Family, type Operation } from '../core/operation.ts';
import type { LookupProof, Store } from '../store/store.ts';
import { callKey, type AttemptDeps } from './attempt-run.ts';
import { heedShutDoor } from './shut-doors.ts';
import { heedRateLimit } from './turned-away.ts';
import type { WholesalePort } from './wholesale-port.ts';

const families: readonly Family[] = ['gift_card', 'esim'];
/** How long to leave a lookup alone that did not find what was surely bought. */
const retryMs = 600_000;
/**
 * Whether "not found" can be believed. The path of a lookup is an assumption (the spec shows none), and an API that
 * answers any unknown path with its own `not_found` would make every order look absent. So a family's lookups count
 * only after one of them has found an order under the very path that is configured now; as soon as something was bought, one is tried.
 */
export class LookupCheck {
  readonly #store: Store;
  #proven: readonly LookupProof[] = [];
  readonly #notBefore = new Map<Family, number>();

  constructor(store: Store) {
    this.#store = store;
  }

  async refresh(): Promise<void> {
    this.#proven = await this.#store.provenLookups();
  }

  #isProven(family: Family, path: string | null): boolean {
    return this.#proven.some((proof) => proof.family === family && proof.path === path);
  }

  /** Whether a lookup of this operation's family has found an order under the path that is asked now. */
  trusts(operation: Operation, wholesale: Pick<WholesalePort, 'lookupPath'>): boolean {
    const family = familyOf(operation);
    return this.#isProven(family, wholesale.lookupPath(family));
  }

  async found(operation: Operation, wholesale: Pick<WholesalePort, 'lookupPath'>): Promise<void> {
    const family = familyOf(operation);
    const path = wholesale.lookupPath(family);
    if (path === null || this.#isProven(family, path)) return;
    await this.#store.proveLookup({ family, path });
    await this.refresh();
  }

  /** Tries one lookup of an order that was surely bought, in a family that has none to show yet. */
  async tryOne(deps: AttemptDeps, signal: AbortSignal): Promise<void> {
    const { store, gate, clock, wholesale, logger } = deps;
    for (const family of families) {
      const now = clock.monoMs();
      const path = wholesale.lookupPath(family);
      if (path === null || this.#isProven(family, path) || now < (this.#notBefore.get(family) ?? 0)) continue;
      const reference = await store.boughtReference(family);
      if (reference === null) continue;
      const keyName = gate.tryTake('read');
      if (keyName === null) return;
      const key = callKey(deps, keyName);
      this.#notBefore.set(family, now + retryMs);
      const slot = await store.takeSlot({ keyName, nowMono: now, bootId: clock.bootId ?? null });
      const lookup = await wholesale.lookUp({
        family,
        key: reference,
        keyValue: key.value,
        expectReference: reference,
        ordered: null,
        signal,
      });
      const settledMs =
        clock.monoMs() + (lookup.kind === 'failed' && lookup.outcome.http === null ? deps.limits.transitMs : 0);
      await store.settleSlot(slot, settledMs);
      gate.settle(keyName, 'read', settledMs);
      if (lookup.kind === 'failed') {
        await heedRateLimit(deps, keyName, lookup.outcome);
        await heedShutDoor(deps, keyName, lookup.outcome);
      }
      if (lookup.kind === 'found') {
        await store.proveLookup({ family, path });
        await this.refresh();
        logger.info({ family }, 'lookups work: an order that was bought was found by its reference');
      } else if (lookup.kind === 'absent') {
        logger.error(
          { family, reference },
          'a lookup does not find an order that was bought: wholesale.wire.lookup is not right, and doubts will need a person',
        );
      }
    }
  }
}
