import { expect, it } from 'vitest';
import { NotePosts } from '../../../src/storefronts/woocommerce/note-posts.ts';
import { HandClock } from '../../support/hand-clock.ts';

const note = { markers: ['order-sync:1', 'order-sync:2'], isForCustomer: true };
const lostAfterMs = 90_000;
const minute = 60_000;

/**
 * When the note is posted to a shop that never keeps it, within three days, in minutes. The worker
 * starts anew each time.
 */
async function postedAt(): Promise<readonly number[]> {
  const clock = new HandClock();
  let kept: string | null = null;
  const posted: number[] = [];
  for (let at = 0; at < 3 * 24 * 60; at += 1) {
    clock.now = at * minute;
    const keep = async (posts: string): Promise<void> => void (kept = posts);
    const posts: NotePosts = new NotePosts(kept, { clock, keep });
    await posts.compare(
      { shown: new Set(), announced: kept === null ? [] : note.markers },
      lostAfterMs,
    );
    if (posts.stateOf('order-sync:1') === 'begun') continue;
    await posts.set(note, 'begun');
    expect(posts.settleInMs(note.markers, lostAfterMs)).toBe(
      lostAfterMs * 2 ** Math.min(posted.length, 8),
    );
    posted.push(at);
  }
  return posted;
}

it('a note that a shop mails and does not keep is posted again after ever longer waits', async () => {
  const posted = await postedAt();
  expect(posted.slice(0, 5)).toEqual([0, 2, 5, 11, 23]);
  expect(posted.length).toBeLessThanOrEqual(20);
});

it('a note that the order shows late is not posted again', async () => {
  const clock = new HandClock();
  const posts = new NotePosts(null, { clock, keep: async () => undefined });
  await posts.set(note, 'begun');
  clock.now = lostAfterMs - 1;
  await posts.compare({ shown: new Set(), announced: note.markers }, lostAfterMs);
  expect(posts.settleInMs(note.markers, lostAfterMs)).toBe(1);
  await posts.compare({ shown: new Set(note.markers), announced: note.markers }, lostAfterMs);
  expect(posts.stateOf('order-sync:2')).toBe('posted');
});
