/** A lane: its entries are served in turn with those of other lanes. */
export interface LaneFacts {
  readonly source: string;
  readonly name: string;
  /** Entries in it that may be sent now. */
  readonly due: number;
}

/**
 * How many calls come before an entry at most: shops take turns, and so do the lanes of a shop. Only the claim knows
 * whose turn is next, so every other shop and lane counts as being served before the entry in each round.
 */
export function callsAhead(
  lanes: readonly LaneFacts[],
  own: { readonly source: string; readonly name: string; readonly before: number },
): number {
  const round = own.before + 1;
  const ofShop = lanes.filter((lane) => lane.source === own.source && lane.name !== own.name);
  const turns = own.before + sum(ofShop.map((lane) => Math.min(lane.due, round)));
  const others = new Map<string, number>();
  for (const lane of lanes) {
    if (lane.source !== own.source) others.set(lane.source, (others.get(lane.source) ?? 0) + lane.due);
  }
  return turns + sum([...others.values()].map((due) => Math.min(due, turns + 1)));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
