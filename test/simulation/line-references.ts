import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import { referenceFor } from '../../src/core/order/reference.ts';
import { namespace } from './sim-disk.ts';

/** A cache: the references of a line are needed often. */
const possibleReferences = new WeakMap<
  AcceptableLine,
  { readonly deepest: number; readonly all: ReadonlySet<string> }
>();

/**
 * Every reference that a line can ever get, computed without the worker. A line that can be split
 * or charged to another balance has more of them, and so has one that the operator re-orders.
 */
export function referencesOf(line: AcceptableLine, reorders: number): ReadonlySet<string> {
  const { source, orderId, lineId } = line;
  const { fallback_currency: other, ...parts } = line.rules ?? {};
  // A part of a split may be charged to the balance that the whole was not charged to.
  const ofRules = (Object.keys(parts).length === 0 ? 0 : 4) + (other === undefined ? 0 : 2);
  const deepest = Math.min(8, ofRules + 2 * reorders);
  const known = possibleReferences.get(line);
  if (known?.deepest === deepest) return known.all;
  const references = new Set<string>();
  for (let generation = 0; generation <= deepest; generation += 1)
    for (let part = 0; part < 2 ** generation; part += 1)
      references.add(referenceFor(namespace, { source, orderId, lineId, generation, part }));
  possibleReferences.set(line, { deepest, all: references });
  return references;
}
