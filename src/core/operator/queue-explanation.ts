import { z } from 'zod';

// What `queue explain --json` prints: a contract (docs/cli.md). The worker makes it, the command line only prints it.

const time = z.string().nullable();
const sentences = z.array(z.string()).readonly();

const pauseViewSchema = z.object({
  scope: z.string(),
  reason: z.string(),
  message: z.string(),
  opened_by: z.string(),
  since: z.string(),
  /** When the worker looks at it again; null: only a person resumes it. */
  probe_at: time,
  probes: z.number(),
  /** Entries to send that it keeps from being sent. */
  holds_up: z.number(),
});
export type PauseView = z.infer<typeof pauseViewSchema>;

const keyViewSchema = z.object({
  name: z.string(),
  state: z.enum(['ready', 'paused', 'backing_off', 'throttled']),
  since: time,
  /** When this state ends by itself. */
  until: time,
  orders_used: z.number(),
  requests_used: z.number(),
});

const limitViewSchema = z.object({
  limit: z.enum(['orders', 'requests']),
  used: z.number(),
  capacity: z.number(),
  /** Null: that depends on calls in flight, or no key may be used. */
  next_free_at: time,
});

export const queueExplanationSchema = z.object({
  /** Whether a running worker made this; without one there are no keys, no limits and no forecast. */
  worker_answers: z.boolean(),
  /** Entries that are to be sent, now or later, and how many of them belong to a paused scope. */
  to_send: z.number(),
  to_send_paused: z.number(),
  outcome_unknown: z.number(),
  free_bytes: z.number(),
  /** Why nothing new is bought. */
  reasons: sentences,
  /** What slows sending down without stopping it. */
  notes: sentences,
  pauses: z.array(pauseViewSchema).readonly(),
  keys: z.array(keyViewSchema).readonly(),
  limits: z.array(limitViewSchema).readonly(),
  /** When everything has been sent, at the earliest; null when nothing is to be sent or something must happen first. */
  drained_at: time,
  /** The same of what no pause holds up. */
  unpaused_drained_at: time,
});
export type QueueExplanation = z.infer<typeof queueExplanationSchema>;

export const entryExplanationSchema = z.object({
  worker_answers: z.boolean(),
  reference: z.string(),
  state: z.string(),
  /** Why it is not sent at this moment; empty when it is its turn. */
  reasons: sentences,
  calls_ahead: z.number().nullable(),
  /** When it is sent, at the earliest; null when something must happen first. */
  starts_at: time,
});
export type EntryExplanation = z.infer<typeof entryExplanationSchema>;

/** An entry is not sent before its order was read again from the shop. */
export interface AwaitedRecheck {
  readonly since: string;
  /** Why the order could not be read the last time; null: it was not tried yet. */
  readonly problem: string | null;
}

/** Why such an entry is not sent, for people. */
export function recheckText({ since, problem }: AwaitedRecheck): string {
  const why = `its order is read again from the shop before it is bought, and it has waited for that since ${since}`;
  return problem === null ? why : `${why}; the last try failed: ${problem}`;
}

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
