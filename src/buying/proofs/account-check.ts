import type { Logger } from 'pino';
import { familyOf } from '../../core/order/purchase.ts';
import { keyScope, scopeFrom } from '../../core/order/scope.ts';
import type { AccountKeys, KnownOrder } from './account-keys-sql.ts';
import { keyOfOtherAccount } from '../../store/entries/pauses.ts';
import { budgetedLookup, type CallDeps } from './budgeted-read.ts';
import type { LookupCheck } from './lookup-check.ts';
import type { WholesalePort } from '../../wholesale/wholesale-port.ts';

export interface AccountDeps extends CallDeps {
  readonly steps: CallDeps['steps'] & { readonly accountKeys: AccountKeys };
  readonly wholesale: Pick<WholesalePort, 'lookUp' | 'lookupPath'>;
  readonly lookups: LookupCheck;
  readonly logger: Logger;
  readonly policy: { readonly inFlightWindowMs: number };
}

/**
 * The last question; since when it is about the same order, and whether its answer is that of
 * another account.
 */
type Asked = Readonly<
  Record<'atMs' | 'sinceMs' | 'failures', number> & { reference: string; isOther: boolean }
>;

const askAgainMs = 300_000;
const failedAgainMs = 5000;
/** After so many lookups without an answer an operator sees it. */
const failuresShown = 3;

/**
 * Whether each key is one of the account that the outbox buys from. A key of another account finds
 * nothing, so what is open would be bought there again. A key that was never used is asked for an
 * order that is known before anything is bought with it. Where no order is known, or no lookup has
 * found one yet, nothing is asked.
 */
export class AccountCheck {
  /** Values of keys of the account: these stay so. */
  readonly #proven = new Set<string>();
  #unproven: readonly string[] = [];
  #known: KnownOrder | null = null;
  readonly #asked = new Map<string, Asked>();

  /** The values at the last `refresh`: one that a reload brought since is not judged yet. */
  #values: ReadonlyMap<string, string> = new Map();

  /**
   * Whether anything may be bought with a key. @param value its value now; absent: that of the last
   * `refresh`
   */
  mayBuy(keyName: string, value: string | null = this.#values.get(keyName) ?? null): boolean {
    if (value !== (this.#values.get(keyName) ?? null)) return false;
    return this.#known === null || !this.#unproven.includes(keyName);
  }

  /** Whether an entry may have to be looked up with one key and not with another. */
  get mayDiffer(): boolean {
    return this.#unproven.length > 0;
  }

  /** Reads which keys are to be asked, before anything is sent. */
  async refresh({
    steps,
    gate,
    clock,
    policy,
    keyValue,
    lookups,
    wholesale,
    pauses,
  }: AccountDeps): Promise<void> {
    const refused = pauses.all.filter(({ reason }) => reason === keyOfOtherAccount);
    // An operator may accept its account instead of that of the others.
    if (refused.length > 0) this.#proven.clear();
    const keys = gate.keyNames.map((name) => ({ name, value: keyValue(name) ?? '' }));
    const others = keys.filter(({ value }) => !this.#proven.has(value));
    const settledMs = clock.wallMs() - policy.inFlightWindowMs;
    const found = others.length === 0 ? null : await steps.accountKeys.statesOf(others, settledMs);
    this.#unproven = found?.unproven ?? [];
    this.#known =
      found?.orders.find(({ operation }) => lookups.hasFound(operation, wholesale)) ?? null;
    const proven =
      refused.length > 0 ? [] : others.filter(({ name }) => !this.#unproven.includes(name));
    for (const { value } of proven) this.#proven.add(value);
    this.#values = new Map(keys.map(({ name, value }) => [name, value]));
    for (const pause of refused) {
      const scope = scopeFrom(pause.scope);
      if (scope?.kind === 'key' && this.mayBuy(scope.name))
        await pauses.release(
          pause,
          'the key is no longer suspected of belonging to another account',
        );
    }
  }

  /**
   * Asks the keys that are due to be asked. One of another account is paused: it only looks up what
   * was sent with it. Returns whether any was asked.
   */
  async ask(deps: AccountDeps, signal: AbortSignal): Promise<boolean> {
    const known = this.#known;
    if (known === null) return false;
    let asked = false;
    for (const keyName of this.#unproven)
      asked = (await this.#askKey(deps, known, keyName, signal)) || asked;
    if (asked) await this.refresh(deps);
    return asked;
  }

  async #askKey(
    deps: AccountDeps,
    known: KnownOrder,
    keyName: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { steps, clock, keyValue, logger, policy, pauses } = deps;
    const value = keyValue(keyName) ?? '';
    const before = this.#asked.get(value);
    const isShown = pauses.all.some(({ scope }) => scope === keyScope(keyName));
    const waitMs = before?.isOther === true && isShown ? askAgainMs : failedAgainMs;
    if (before !== undefined && clock.steadyMs() < before.atMs + waitMs) return false;
    const { reference } = known;
    const read = await budgetedLookup(
      deps,
      { family: familyOf(known.operation), reference },
      signal,
      keyName,
    );
    if (read === null || read.isKeyReplaced) return false;
    const { kind } = read.answer;
    if (kind === 'found') await steps.accountKeys.prove(value);
    if (kind === 'found') return true;
    const atMs = clock.steadyMs();
    const sinceMs = before?.reference === reference ? before.sinceMs : atMs;
    // A lookup may not show yet what was just bought. A wall clock that was set back does not say
    // when that was.
    const sentAgoMs = Math.max(clock.wallMs() - known.sentAtMs, atMs - sinceMs);
    const isOther = kind === 'absent' && sentAgoMs >= policy.inFlightWindowMs;
    const failures = (before?.failures ?? 0) + 1;
    this.#asked.set(value, { reference, sinceMs, atMs, failures, isOther });
    if (!isOther && (kind === 'absent' || failures < failuresShown)) return true;
    const what = isOther ? 'does not know' : 'does not say whether it knows';
    const message = `asked with this key, the API ${what} the order ${reference}, which another key bought: this key perhaps belongs to another account`;
    logger.error({ key: keyName, reference }, message);
    const pause = {
      scope: keyScope(keyName),
      reason: keyOfOtherAccount,
      message,
      openedBy: 'worker',
      probeAtMs: null,
    };
    await deps.store.pauses.open({ ...pause, nowMs: clock.wallMs() });
    await pauses.refresh();
    return true;
  }
}
