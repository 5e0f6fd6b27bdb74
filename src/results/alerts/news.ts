import type { AlertSettings } from '../settings.ts';
import type { Condition } from './conditions.ts';

/** As it was last seen. */
export interface KnownCondition extends Condition {
  /** Null: it was not posted. */
  readonly posted: Pick<Condition, 'severity' | 'count' | 'newestMs'> | null;
  /** When it was seen to be over; null: it lasts. */
  readonly endedMs: number | null;
}

/** What an endpoint knows, stored as JSON. */
export interface Told {
  readonly conditions: readonly KnownCondition[];
  /** The last post: its steady time, and the highest severity in it. */
  readonly postedAtMs: number | null;
  readonly severity: Condition['severity'] | null;
}

type Now = AlertSettings & {
  /** False: there are more rows, so a condition without a row may be open. */
  readonly complete: boolean;
  readonly nowMs: number;
  readonly steadyMs: number;
};

export type News = ReturnType<typeof newsSince>;

/**
 * The news for an endpoint, and whether it is time to post them: `gapMs` after the last post for what is
 * critical and new, or more than that post was; `intervalMs` for other news, and for what came and
 * went meanwhile; `remindMs` for what lasts.
 */
export function newsSince(told: Told, open: readonly Condition[], now: Now) {
  const known = new Map(told.conditions.map((one) => [one.condition, one]));
  const seen = open.map((one) => seenAgain(one, known.get(one.condition)));
  for (const { condition } of open) known.delete(condition);
  const isOver = ({ condition }: Condition) => now.complete || condition.startsWith('check:');
  const ended = [...known.values()]
    .filter(isOver)
    .map((one) => ({ ...one, endedMs: one.endedMs ?? now.nowMs }))
    .filter(({ posted, sinceMs, endedMs }) => posted || endedMs - sinceMs >= now.lastsMs);
  const unseen = [...known.values()].filter((one) => !isOver(one));
  const lasting = seen.filter(({ sinceMs }) => now.nowMs - sinceMs >= now.lastsMs);
  const fresh = lasting.filter(isNews);
  const isUrgent = fresh.some(
    ({ severity, posted }) =>
      severity === 'critical' && (told.severity !== severity || posted?.severity !== severity),
  );
  const isReminder = fresh.length + ended.length === 0;
  const firing = isReminder ? lasting : fresh;
  const waitMs = isReminder ? now.remindMs : isUrgent ? now.gapMs : now.intervalMs;
  return {
    firing,
    still: lasting.filter((one) => !firing.includes(one)),
    ended,
    isReminder,
    isDue:
      firing.length + ended.length > 0 && now.steadyMs >= (told.postedAtMs ?? -waitMs) + waitMs,
    /** What the endpoint knows without a post, and after it. */
    before: { ...told, conditions: [...seen, ...unseen, ...ended] },
    after: {
      conditions: [
        ...seen.map((one) => (lasting.includes(one) ? { ...one, posted: asPosted(one) } : one)),
        ...unseen,
      ],
      severity: firing[0]?.severity ?? null,
    },
  };
}

const asPosted = ({ severity, count, newestMs }: Condition) => ({ severity, count, newestMs });

/** Fewer rows are no news. */
const isNews = ({ severity, count, newestMs, posted }: KnownCondition): boolean =>
  posted === null ||
  count > posted.count ||
  newestMs > posted.newestMs ||
  (severity === 'critical' && posted.severity === 'warning');

function seenAgain(now: Condition, before: KnownCondition | undefined): KnownCondition {
  if (before === undefined) return { ...now, posted: null, endedMs: null };
  const { posted, heldUp } = before;
  return {
    ...now,
    sinceMs: before.endedMs === null ? before.sinceMs : now.sinceMs,
    // Its end tells what it held up when that was most.
    heldUp: heldUp.count >= now.heldUp.count ? heldUp : now.heldUp,
    // Rows that ended are forgotten: when there are as many again, that is news.
    posted: posted && {
      ...posted,
      count: Math.min(posted.count, now.count),
      newestMs: Math.min(posted.newestMs, now.newestMs),
    },
    endedMs: null,
  };
}
