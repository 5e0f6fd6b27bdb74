import type { ApiKey } from '../account/accounts.ts';
import type { Call } from '../orders/call.ts';
import type { Catalogue } from '../orders/catalogue.ts';
import * as z from 'zod';
import { SeededStream } from '../values/randomness.ts';
import {
  type Fault,
  type FaultRule,
  faultRuleSchema,
  faultSchema,
} from '../settings/fault-rules.ts';

export type DrawnFault = {
  fault: Fault;
  /** True for the faults of test values: they spoil a purchase, but no call that was refused. */
  onlyWhenCommitted: boolean;
};

type ActiveRule = { rule: FaultRule; stream: SeededStream; matched: number; hits: number };
type CallerKey = Pick<ApiKey, 'name' | 'account'> | undefined;
type Ordered = { reference?: string | undefined; item?: string | undefined };

/** So many spoiled references are remembered; then the oldest is forgotten. */
const maxRememberedReferences = 10_000;

/**
 * Chooses the fault of a call: by header, by rule or by test value. It is seeded, so a run can be
 * repeated.
 */
export class FaultSelection {
  readonly #seed: number;
  #rules: ActiveRule[] = [];
  readonly #spoiled = new Set<string>();

  constructor(seed: number, rules: readonly FaultRule[]) {
    this.#seed = seed;
    for (const rule of rules) this.#push(rule);
  }

  /** Adds a rule and returns it with its defaults. Throws a ZodError when it is not valid. */
  add(input: unknown): FaultRule {
    const rule = faultRuleSchema.parse(input);
    this.#push(rule);
    return rule;
  }

  /** Replaces all rules and starts every count at zero. */
  restart(rules: readonly FaultRule[]): void {
    this.#rules = [];
    this.#spoiled.clear();
    for (const rule of rules) this.#push(rule);
  }

  list(): Array<FaultRule & { matched: number; hits: number }> {
    return this.#rules.map(({ rule, matched, hits }) => ({ ...rule, matched, hits }));
  }

  /**
   * The fault of this call: the one of its header, else of the first rule that hits, else of its
   * test value, else null. Throws when the header is not valid.
   * @internal
   */
  draw(
    call: Call,
    header: string | undefined,
    key: CallerKey,
    catalogue: Catalogue,
  ): DrawnFault | null {
    if (header !== undefined) return { fault: faultOfHeader(header), onlyWhenCommitted: false };
    const ordered = orderedIn(call);
    let drawn: Fault | null = null;
    // Every rule counts all calls that it matches, also after a hit of another rule: rules do not
    // influence each other.
    for (const active of this.#rules) {
      if (!matches(active.rule, call, ordered, key)) continue;
      if (shouldHit(active) && drawn === null) {
        active.hits += 1;
        drawn = active.rule.fault;
      }
    }
    return drawn === null
      ? this.#ofTestValue(call, ordered, catalogue)
      : { fault: drawn, onlyWhenCommitted: false };
  }

  #push(rule: FaultRule): void {
    const stream = new SeededStream(this.#seed, `fault ${this.#rules.length}`);
    this.#rules.push({ rule, stream, matched: 0, hits: 0 });
  }

  /**
   * A test value spoils the first call with a new reference. A fault after the commit cannot hit a
   * replay anyway.
   */
  #ofTestValue(
    call: Call,
    { reference, item }: Ordered,
    { products, plans }: Catalogue,
  ): DrawnFault | null {
    if (item === undefined || reference === undefined) return null;
    const { fault } =
      (call.operation === 'gift_card_order' ? products.get(item) : plans.get(item)) ?? {};
    const first = `${call.token ?? ''} ${reference}`;
    if (fault === undefined || this.#spoiled.has(first)) return null;
    if (!actsBeforeCommit(fault)) return { fault, onlyWhenCommitted: true };
    const [oldest] = this.#spoiled;
    if (oldest !== undefined && this.#spoiled.size >= maxRememberedReferences)
      this.#spoiled.delete(oldest);
    this.#spoiled.add(first);
    return { fault, onlyWhenCommitted: false };
  }
}

function actsBeforeCommit(fault: Fault): boolean {
  if ('when' in fault) return fault.when === 'before';
  return ['late_commit', 'api_disabled', 'rate_limited'].includes(fault.fault);
}

/** `Sandbox-Fault: lost_answer`, or the whole fault as JSON. Throws when it is neither. */
function faultOfHeader(header: string): Fault {
  const text = header.trim();
  return faultSchema.parse(text.startsWith('{') ? JSON.parse(text) : { fault: text });
}

function shouldHit(active: ActiveRule): boolean {
  active.matched += 1;
  const { at, probability, times } = active.rule;
  // Drawn for each matching call, so the n-th call always gets the n-th number of the stream.
  const drawn = active.stream.next();
  if (times !== undefined && active.hits >= times) return false;
  if (at !== undefined) return at.includes(active.matched);
  return probability === undefined || drawn < probability;
}

function matches(
  { match }: FaultRule,
  call: Call,
  { reference, item }: Ordered,
  key: CallerKey,
): boolean {
  const { operation } = match;
  if (operation !== undefined && ![operation].flat().includes(call.operation)) return false;
  if (match.reference !== undefined && match.reference !== reference) return false;
  if (match.item !== undefined && match.item !== item) return false;
  if (match.account !== undefined && match.account !== key?.account) return false;
  return match.key === undefined || match.key === key?.name;
}

const textOrNothing = z.string().optional().catch(undefined);
const orderedSchema = z.object({
  reference: textOrNothing,
  variant: textOrNothing,
  plan: textOrNothing,
});

/** The reference and the item in a body that is not checked yet. */
function orderedIn({ body }: Call): Ordered {
  const { reference, variant, plan } =
    orderedSchema.safeParse('json' in body ? body.json : undefined).data ?? {};
  return { reference, item: variant ?? plan };
}
