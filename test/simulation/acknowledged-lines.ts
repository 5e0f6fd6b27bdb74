import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { ApiLedger } from './api-ledger.ts';
import { referencesOf } from './line-references.ts';

/** The lines that were acknowledged. All of them must be settled. */
export class AcknowledgedLines {
  readonly #lines = new Map<
    string,
    { readonly line: AcceptableLine; readonly reference: string }
  >();

  /** The reference under which each line was first acknowledged. */
  readonly #first = new Map<string, string>();
  /**
   * The lines that the current outbox has acknowledged. A repeated line can get the reference of
   * its replacement.
   */
  readonly #here = new Set<string>();

  get all(): readonly { readonly line: AcceptableLine; readonly reference: string }[] {
    return [...this.#lines.values()];
  }

  /**
   * Returns the first reference if a new outbox acknowledges the line under another one; else null.
   */
  add(line: AcceptableLine, reference: string): string | null {
    const name = nameOf(line);
    const first = this.#first.get(name) ?? reference;
    const differs = first !== reference && !this.#here.has(name);
    this.#first.set(name, first);
    this.#here.add(name);
    this.#lines.set(name, { line, reference });
    return differs ? first : null;
  }

  /** The outbox was replaced by an empty one. */
  forget(): void {
    this.#here.clear();
  }

  /** Whether something was sold for this line under a reference that is not one of the `known`. */
  isSoldElsewhere(
    name: string,
    known: ReadonlySet<string>,
    ledger: ApiLedger,
    reorders: number,
  ): boolean {
    const line = this.#lines.get(name)?.line;
    if (line === undefined) return false;
    return [...referencesOf(line, reorders)].some(
      (it) => !known.has(it) && ledger.find(it) !== undefined,
    );
  }
}

const nameOf = (line: AcceptableLine): string => `${line.source}/${line.orderId}/${line.lineId}`;
