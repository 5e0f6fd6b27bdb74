import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { ApiLedger } from './api-ledger.ts';
import { referencesOf } from './line-references.ts';

/** What was acknowledged: these lines must come to an end. */
export class AcknowledgedLines {
  readonly #lines = new Map<string, { readonly line: AcceptableLine; readonly reference: string }>();

  /** Under which reference each line was acknowledged for the first time. */
  readonly #first = new Map<string, string>();
  /** What this outbox has acknowledged; a line that comes again is answered with what took its place since. */
  readonly #here = new Set<string>();

  get all(): readonly { readonly line: AcceptableLine; readonly reference: string }[] {
    return [...this.#lines.values()];
  }

  /** Returns the reference under which another outbox acknowledged it first, if this one begins with another. */
  add(line: AcceptableLine, reference: string): string | null {
    const name = nameOf(line);
    const first = this.#first.get(name) ?? reference;
    const differs = first !== reference && !this.#here.has(name);
    this.#first.set(name, first);
    this.#here.add(name);
    this.#lines.set(name, { line, reference });
    return differs ? first : null;
  }

  /** The outbox is another one: what it acknowledges is news to it. */
  forget(): void {
    this.#here.clear();
  }

  /** Whether something was sold for this line under a reference that is not one of the `known`. */
  isSoldElsewhere(name: string, known: ReadonlySet<string>, ledger: ApiLedger, reorders: number): boolean {
    const line = this.#lines.get(name)?.line;
    if (line === undefined) return false;
    return [...referencesOf(line, reorders)].some((it) => !known.has(it) && ledger.find(it) !== undefined);
  }
}

const nameOf = (line: AcceptableLine): string => `${line.source}/${line.orderId}/${line.lineId}`;
