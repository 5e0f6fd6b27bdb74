import type { Clock } from '../../core/clock.ts';
import type { OrderNote } from './order-fields.ts';

interface NotePost {
  readonly isForCustomer: boolean;
  /**
   * `announced`: the order names it, and its post did not begin. `begun`: the shop may have it.
   * `posted`: it has or had it.
   */
  readonly state: 'announced' | 'begun' | 'posted';
  /** Since when, in steady time. */
  readonly sinceMs: number;
  /**
   * How often a post of it had begun and did not appear. Each time it is waited for twice as long:
   * it may be mailed each time.
   */
  readonly lost?: number;
}

const waitMs = ({ lost = 0 }: NotePost, lostAfterMs: number): number =>
  lostAfterMs * 2 ** Math.min(lost, 8);

interface NotePostsDeps {
  readonly clock: Pick<Clock, 'steadyMs'>;
  /** Stores the posts durably, as text. */
  readonly keep: (posts: string) => Promise<void>;
}

/**
 * The notes of one order that were posted, by each of their markers, as the outbox knows them. A
 * note cannot be posted so that a second post does nothing. So the outbox has the begin of each
 * post before its call, and its end after it: only a note whose post had begun may stand in the
 * order although nobody knows.
 */
export class NotePosts {
  readonly #deps: NotePostsDeps;
  #posts: ReadonlyMap<string, NotePost>;

  /** @param kept what was stored last, by this program alone; null: nothing */
  constructor(kept: string | null, deps: NotePostsDeps) {
    this.#deps = deps;
    const posts: Readonly<Record<string, NotePost>> = JSON.parse(kept ?? '{}');
    this.#posts = new Map(Object.entries(posts));
  }

  /** Null: nothing is known of it. */
  stateOf(marker: string): NotePost['state'] | null {
    return this.#posts.get(marker)?.state ?? null;
  }

  get isEmpty(): boolean {
    return this.#posts.size === 0;
  }

  /** Whether one did not end, as far as is known. */
  get isAnyOpen(): boolean {
    return [...this.#posts.values()].some(({ state }) => state !== 'posted');
  }

  /** How many notes were posted: the markers of one note have the same time. */
  countPosted(isForCustomer: boolean): number {
    const all = [...this.#posts.values()];
    const posted = all.filter((it) => it.state === 'posted' && it.isForCustomer === isForCustomer);
    return new Set(posted.map(({ sinceMs }) => sinceMs)).size;
  }

  async set(
    { markers, isForCustomer }: Pick<OrderNote, 'markers' | 'isForCustomer'>,
    state: NotePost['state'],
  ) {
    const post = this.#post(isForCustomer, state);
    const posts = markers.map(
      (marker) => [marker, { ...this.#posts.get(marker), ...post }] as const,
    );
    await this.#keep([...this.#posts, ...posts]);
  }

  /**
   * In how many ms the posts of these that began do not appear any more, where the first one is
   * lost after `lostAfterMs`.
   */
  settleInMs(markers: readonly string[], lostAfterMs: number): number {
    const begun = markers
      .flatMap((marker) => this.#posts.get(marker) ?? [])
      .filter(({ state }) => state === 'begun');
    return Math.max(1, ...begun.map((post) => waitMs(post, lostAfterMs) - this.#passedMs(post)));
  }

  /**
   * Compares with the notes that the order has. A note that it shows was posted. A note that it
   * announces without showing it, and of which nothing is known, may have been begun just now. A
   * note that began long ago and is not shown was never posted.
   * @param found `shown`: the markers of its notes; `announced`: those that the order names
   */
  async compare(
    found: { shown: ReadonlySet<string>; announced: readonly string[] },
    lostAfterMs: number,
  ) {
    const stateNow = (marker: string): NotePost => {
      const post = this.#posts.get(marker) ?? this.#post(true, 'begun');
      if (found.shown.has(marker)) return { ...post, state: 'posted' };
      if (post.state !== 'begun') return post;
      const isLost = this.#passedMs(post) >= waitMs(post, lostAfterMs);
      return isLost ? { ...post, state: 'announced', lost: (post.lost ?? 0) + 1 } : post;
    };
    const markers = new Set([...this.#posts.keys(), ...found.shown, ...found.announced]);
    await this.#keep([...markers].map((marker) => [marker, stateNow(marker)]));
  }

  #post(isForCustomer: boolean, state: NotePost['state']): NotePost {
    return { isForCustomer, state, sinceMs: this.#deps.clock.steadyMs() };
  }

  #passedMs({ sinceMs }: NotePost): number {
    return this.#deps.clock.steadyMs() - sinceMs;
  }

  async #keep(posts: Iterable<readonly [string, NotePost]>): Promise<void> {
    const kept = new Map(posts);
    await this.#deps.keep(JSON.stringify(Object.fromEntries(kept)));
    this.#posts = kept;
  }
}
