/** `2 rejected, 1 pause`. */
export const countsText = (counts: Readonly<Record<string, unknown>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${String(count)} ${name}`)
    .join(', ');

/** `1 entry`, `2 entries`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

export const totalOf = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);
