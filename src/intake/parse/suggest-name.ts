/** How many single-character edits lead from one name to the other; swapped neighbours count as one. */
function distance(from: string, to: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      let least = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + (same ? 0 : 1),
      );
      if (row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]) {
        least = Math.min(least, (beforePrevious[column - 2] ?? 0) + 1);
      }
      current.push(least);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[to.length] ?? 0;
}

const plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/** The known name that a mistyped one most likely stands for, or null: `quanity` -> `quantity`. */
export function suggestName(name: string, known: readonly string[]): string | null {
  const wanted = plain(name);
  if (wanted === '' || wanted.length > 64) return null;
  let best: { name: string; edits: number } | null = null;
  for (const candidate of known) {
    const edits = distance(wanted, plain(candidate));
    const allowed = candidate.length <= 4 ? 1 : 2;
    if (edits <= allowed && (best === null || edits < best.edits)) best = { name: candidate, edits };
  }
  return best?.name ?? null;
}

/** The suggestion as the end of a sentence; empty when there is none. */
export function didYouMean(name: string, known: readonly string[]): string {
  const suggestion = suggestName(name, known);
  return suggestion === null ? '' : `: did you mean ${suggestion}?`;
}
