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
  /** Whether a running worker made this; without one there are no keys, no limits and no estimate. */
  worker_answers: z.boolean(),
  /** Entries that are to be sent, now or later, and how many of them belong to a paused scope. */
  to_send: z.number(),
  to_send_paused: z.number(),
  /** How many of the others wait for their time. */
  to_send_waiting: z.number(),
  outcome_unknown: z.number(),
  free_bytes: z.number(),
  /** Why nothing new is bought. */
  reasons: sentences,
  /** The facts that slow sending down without stopping it. */
  notes: sentences,
  pauses: z.array(pauseViewSchema).readonly(),
  keys: z.array(keyViewSchema).readonly(),
  limits: z.array(limitViewSchema).readonly(),
  /** How many orders a minute the keys that may be used allow now; 0 without a worker. */
  per_minute: z.number(),
  /** When everything was sent that neither a pause nor its own time holds up, about; null: there is no estimate. */
  drained_at: time,
});
export type QueueExplanation = z.infer<typeof queueExplanationSchema>;

export const entryExplanationSchema = z.object({
  worker_answers: z.boolean(),
  reference: z.string(),
  state: z.string(),
  /** Why it is not sent at this moment; empty when it is its turn. */
  reasons: sentences,
  /** How many calls come before it, about. */
  calls_ahead: z.number().nullable(),
  per_minute: z.number(),
  /** When it is sent, about; null when something must happen first. */
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
