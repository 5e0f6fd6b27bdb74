import { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import type { OrderNote } from './order-fields.ts';

const postSchema = z.strictObject({
  /** Stand in the note; each says one thing, and is the same whenever the same is said. */
  markers: z.array(z.string()),
  isForCustomer: z.boolean(),
  /** `announced`: the order names it, and its post did not begin. `begun`: the shop may have it. `posted`: it has or had it. */
  state: z.enum(['announced', 'begun', 'posted']),
  /** When it began, by the clock of the machine, which nobody can set; with another boot id nothing is known of that. */
  sinceMono: z.number(),
  bootId: z.string().nullable(),
});
const postsSchema = z.array(postSchema);

type NotePost = z.infer<typeof postSchema>;
type PostState = NotePost['state'];

interface NotePostsDeps {
  readonly clock: Pick<Clock, 'monoMs' | 'bootId'>;
  /** Stores the posts durably, as text. */
  readonly keep: (posts: string) => Promise<void>;
}

/**
 * The notes of one order that were posted, as the outbox knows them. A note cannot be posted so that a second post does
 * nothing. So the outbox has the begin of each post before its call, and its end after it: only a note whose post had begun
 * may stand in the order although nobody knows.
 */
export class NotePosts {
  readonly #deps: NotePostsDeps;
  #posts: readonly NotePost[];

  /** @param kept what was stored last; null: nothing */
  constructor(kept: string | null, deps: NotePostsDeps) {
    this.#deps = deps;
    this.#posts = kept === null ? [] : postsSchema.parse(JSON.parse(kept));
  }

  /** Null: nothing is known of it. */
  stateOf(marker: string): PostState | null {
    return this.#posts.find(({ markers }) => markers.includes(marker))?.state ?? null;
  }

  get isEmpty(): boolean {
    return this.#posts.length === 0;
  }

  /** Whether one did not end, as far as is known. */
  get isAnyOpen(): boolean {
    return this.#posts.some(({ state }) => state !== 'posted');
  }

  countPosted(isForCustomer: boolean): number {
    return this.#posts.filter((post) => post.isForCustomer === isForCustomer && post.state === 'posted').length;
  }

  async set({ markers, isForCustomer }: Pick<OrderNote, 'markers' | 'isForCustomer'>, state: PostState): Promise<void> {
    await this.#keep([...this.#without(markers), this.#post(markers, isForCustomer, state)]);
  }

  /** How long ago the post of these began, in ms; 0: it did not begin, or before this machine was started. */
  begunForMs(markers: readonly string[]): number {
    const begun = this.#posts.filter(
      (post) => post.state === 'begun' && markers.some((it) => post.markers.includes(it)),
    );
    return Math.min(...begun.map((post) => this.#sinceMs(post)));
  }

  /**
   * Compares with the notes that the order has. What it shows was posted. What it does not show although it is announced, and
   * of which nothing was known, may have been begun just now. What began long ago and is not shown was never posted.
   * @param found `shown`: the markers of its notes; `announced`: those that the order names
   */
  async compare(
    found: { shown: ReadonlySet<string>; announced: readonly string[] },
    lostAfterMs: number,
  ): Promise<void> {
    const { shown, announced } = found;
    const known = this.#posts.map((post): NotePost => {
      const isShown = post.markers.some((marker) => shown.has(marker));
      if (isShown && post.state !== 'posted') return { ...post, state: 'posted' };
      if (post.state !== 'begun') return post;
      // Since a start of the machine its own time is not known any more, so the wait begins again.
      if (!this.#isOfThisBoot(post)) return this.#post(post.markers, post.isForCustomer, 'begun');
      return this.#sinceMs(post) >= lostAfterMs ? { ...post, state: 'announced' } : post;
    });
    const isKnown = new Set(this.#posts.flatMap(({ markers }) => markers));
    const others = [...new Set([...shown, ...announced])].filter((marker) => !isKnown.has(marker));
    const added = others.map((marker) => this.#post([marker], true, shown.has(marker) ? 'posted' : 'begun'));
    await this.#keep([...known, ...added]);
  }

  #without(markers: readonly string[]): readonly NotePost[] {
    return this.#posts.flatMap((post): NotePost[] => {
      const left = post.markers.filter((marker) => !markers.includes(marker));
      return left.length === 0 ? [] : [{ ...post, markers: left }];
    });
  }

  #post(markers: readonly string[], isForCustomer: boolean, state: PostState): NotePost {
    const { clock } = this.#deps;
    return { markers: [...markers], isForCustomer, state, sinceMono: clock.monoMs(), bootId: clock.bootId ?? null };
  }

  #isOfThisBoot({ bootId, sinceMono }: NotePost): boolean {
    const { clock } = this.#deps;
    return bootId === (clock.bootId ?? null) && sinceMono <= clock.monoMs();
  }

  #sinceMs(post: NotePost): number {
    return this.#isOfThisBoot(post) ? this.#deps.clock.monoMs() - post.sinceMono : 0;
  }

  async #keep(posts: readonly NotePost[]): Promise<void> {
    await this.#deps.keep(JSON.stringify(posts));
    this.#posts = posts;
  }
}
