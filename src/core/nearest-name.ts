/** The known name that a mistyped name most likely means; undefined when none is similar. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const limit = Math.max(1, Math.floor(name.length / 3));
  let best: { name: string; distance: number } | undefined;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) > limit) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance <= limit && (best === undefined || distance < best.distance))
      best = { name: candidate, distance };
  }
  return best?.name;
}

/** How many characters must be changed, inserted, removed or swapped with their neighbour. */
function editDistance(left: string, right: string): number {
  const rows = [Array.from({ length: right.length + 1 }, (_, index) => index)];
  const at = (row: number, column: number): number => rows[row]?.[column] ?? Infinity;
  for (let row = 1; row <= left.length; row += 1) {
    rows.push([row]);
    for (let column = 1; column <= right.length; column += 1) {
      const changed = at(row - 1, column - 1) + (left[row - 1] === right[column - 1] ? 0 : 1);
      const isSwapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      const swapped = isSwapped ? at(row - 2, column - 2) + 1 : Infinity;
      rows[row]?.push(Math.min(at(row - 1, column) + 1, at(row, column - 1) + 1, changed, swapped));
    }
  }
  return at(left.length, right.length);
}
