/** `2026-11-21 12:00:01Z`: a time for people, in UTC like the log. */
export function shortTime(iso: string): string {
  return iso.replace('T', ' ').replace(/\.\d+Z$/, 'Z');
}

/** `3 h 20 min`: a duration for people, in its two largest units. */
export function shortDuration(ms: number): string {
  const units: readonly [string, number][] = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1000],
  ];
  const first = units.findIndex(([, size]) => ms >= size);
  if (first === -1) return '0 s';
  let rest = ms;
  const parts = units.slice(first, first + 2).map(([name, size]): [string, number] => {
    const amount = Math.floor(rest / size);
    rest -= amount * size;
    return [name, amount];
  });
  return parts
    .filter(([, amount]) => amount > 0)
    .map(([name, amount]) => `${amount} ${name}`)
    .join(' ');
}
