import type { Call } from '../orders/call.ts';
import type { Catalogue } from '../orders/catalogue.ts';
import { type Fault, type FaultRule, faultRuleSchema, faultSchema } from './fault-rules.ts';
import { SeededStream } from '../randomness.ts';

/** A fault that was drawn for one call. */
export type DrawnFault = {
  fault: Fault;
  /** True for the faults of test items: they spoil a purchase, and nothing that was refused anyway. */
  onlyWhenCommitted: boolean;
};

type LiveRule = { rule: FaultRule; stream: SeededStream; matched: number; hits: number };

/** References whose first call a test item already spoiled; the oldest are forgotten past this many. */
const rememberedReferences = 10_000;

/** Decides which calls go wrong: by header, by test item, by rules. Seeded, so that a run can be repeated. */
export class FaultSelection {
  readonly #seed: number;
  #rules: LiveRule[] = [];
  readonly #spoiled = new Set<string>();

  constructor(seed: number, rules: readonly FaultRule[]) {
    this.#seed = seed;
    for (const rule of rules) this.#push(rule);
  }

  /** Adds a rule and returns it with its defaults. Throws a ZodError when it is not one. */
  add(input: unknown): FaultRule {
    const rule = faultRuleSchema.parse(input);
    this.#push(rule);
    return rule;
  }

  /** Back to these rules, with all counts at zero. */
  restart(rules: readonly FaultRule[]): void {
    this.#rules = [];
    this.#spoiled.clear();
    for (const rule of rules) this.#push(rule);
  }

  /** True when a rule asks for a key by name, so that the name is worth finding out. */
  get looksAtKeys(): boolean {
    return this.#rules.some(({ rule }) => rule.match.key !== undefined);
  }

  list(): Array<FaultRule & { matched: number; hits: number }> {
    return this.#rules.map(({ rule, matched, hits }) => ({ ...rule, matched, hits }));
  }

  /** The fault of this call, if any: what its header asks for, else the first rule that hits, else its item's. */
  draw(call: Call, header: string | undefined, key: string | undefined, catalogue: Catalogue): DrawnFault | null {
    if (header !== undefined) return { fault: faultOfHeader(header), onlyWhenCommitted: false };
    const { reference, item } = purchaseIn(call);
    let drawn: Fault | null = null;
    // Every rule counts every call that it matches, also when another rule hits: scripts do not shift each other.
    for (const live of this.#rules) {
      if (!matches(live.rule, call, reference, item, key)) continue;
      if (strikes(live) && drawn === null) {
        live.hits += 1;
        drawn = live.rule.fault;
      }
    }
    if (drawn !== null) return { fault: drawn, onlyWhenCommitted: false };
    return this.#ofItem(call, reference, item, catalogue);
  }

  #push(rule: FaultRule): void {
    this.#rules.push({
      rule,
      stream: new SeededStream(this.#seed, `fault ${this.#rules.length}`),
      matched: 0,
      hits: 0,
    });
  }

  #ofItem(
    call: Call,
    reference: string | undefined,
    item: string | undefined,
    catalogue: Catalogue,
  ): DrawnFault | null {
    if (item === undefined || reference === undefined) return null;
    const fault =
      call.operation === 'gift_card_order' ? catalogue.products.get(item)?.fault : catalogue.plans.get(item)?.fault;
    if (fault === undefined) return null;
    const first = `${call.authorization ?? ''} ${reference}`;
    if (this.#spoiled.has(first)) return null;
    if (actsBefore(fault)) {
      if (this.#spoiled.size >= rememberedReferences) {
        const [oldest] = this.#spoiled;
        if (oldest !== undefined) this.#spoiled.delete(oldest);
      }
      this.#spoiled.add(first);
      return { fault, onlyWhenCommitted: false };
    }
    return { fault, onlyWhenCommitted: true };
  }
}

/** Does the fault strike before the service has done its work (or instead of it)? */
export function actsBefore(fault: Fault): boolean {
  if ('when' in fault) return fault.when === 'before';
  return ['late_commit', 'api_disabled', 'rate_limited'].includes(fault.fault);
}

/** `Sandbox-Fault: lost_answer`, or the whole fault as JSON. Throws when it is neither. */
export function faultOfHeader(header: string): Fault {
  const text = header.trim();
  return faultSchema.parse(text.startsWith('{') ? JSON.parse(text) : { fault: text });
}

function strikes(live: LiveRule): boolean {
  live.matched += 1;
  const { at, probability, times } = live.rule;
  // Drawn for each matching call, hit or not, so that the n-th call always meets the n-th number of the stream.
  const drawn = live.stream.next();
  if (times !== undefined && live.hits >= times) return false;
  if (at !== undefined) return at.includes(live.matched);
  return probability === undefined || drawn < probability;
}

function matches(
  { match }: FaultRule,
  call: Call,
  reference: string | undefined,
  item: string | undefined,
  key: string | undefined,
): boolean {
  const wanted = match.operation;
  if (wanted !== undefined && !(Array.isArray(wanted) ? wanted : [wanted]).includes(call.operation)) return false;
  if (match.reference !== undefined && match.reference !== reference) return false;
  if (match.item !== undefined && match.item !== item) return false;
  return match.key === undefined || match.key === key;
}

/** The reference and the item of a purchase, read without trusting the body. */
function purchaseIn(call: Call): { reference: string | undefined; item: string | undefined } {
  const json = 'json' in call.body ? call.body.json : undefined;
  if (typeof json !== 'object' || json === null) return { reference: undefined, item: undefined };
  const text = (name: string): string | undefined => {
    const value: unknown = Object.getOwnPropertyDescriptor(json, name)?.value;
    return typeof value === 'string' ? value : undefined;
  };
  return { reference: text('reference'), item: text('variant') ?? text('plan') };
}
