/** How often each place was reached. A place that was never reached was not tested. */
export class Coverage {
  readonly counts = new Map<string, number>();

  hit(place: string, times = 1): void {
    this.counts.set(place, (this.counts.get(place) ?? 0) + times);
  }

  add(other: ReadonlyMap<string, number> | readonly (readonly [string, number])[]): void {
    for (const [place, times] of other) this.hit(place, times);
  }

  get(place: string): number {
    return this.counts.get(place) ?? 0;
  }
}
