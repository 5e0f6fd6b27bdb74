// What `queue status --explain --json` prints: a contract (docs/cli.md). The worker makes it, the
// command line only prints it.

export interface PauseView {
  scope: string;
  reason: string;
  message: string;
  opened_by: string;
  since: string;
  /** When the worker looks at it again; null: only an operator resumes it. */
  probe_at: string | null;
  probes: number;
  /** Entries to send that it keeps from being sent. */
  holds_up: number;
}

interface KeyView {
  name: string;
  state: 'ready' | 'paused' | 'backing_off' | 'throttled';
  since: string | null;
  /** When this state ends by itself. */
  until: string | null;
  orders_used: number;
  requests_used: number;
}

interface LimitView {
  limit: 'orders' | 'requests';
  used: number;
  capacity: number;
  /** Null: that depends on calls in flight, or no key may be used. */
  next_free_at: string | null;
}

export interface QueueExplanation {
  /**
   * Whether a running worker made this; without one there are no keys, no limits and no estimate.
   */
  worker_answers: boolean;
  /** Entries that are to be sent, now or later, and how many of them belong to a paused scope. */
  to_send: number;
  to_send_paused: number;
  /** How many of the others wait for their time. */
  to_send_waiting: number;
  outcome_unknown: number;
  free_bytes: number;
  /** Why nothing new is bought. */
  reasons: readonly string[];
  /** The facts that slow sending down without stopping it. */
  notes: readonly string[];
  pauses: readonly PauseView[];
  keys: readonly KeyView[];
  limits: readonly LimitView[];
  /** How many orders a minute the keys that may be used allow now; 0 without a worker. */
  per_minute: number;
  /**
   * When everything was sent that neither a pause nor its own time holds up, about; null: there is
   * no estimate.
   */
  drained_at: string | null;
}

export interface EntryExplanation {
  worker_answers: boolean;
  reference: string;
  state: string;
  /** Why it is not sent at this moment; empty when it is its turn. */
  reasons: readonly string[];
  /** How many calls come before it, about. */
  calls_ahead: number | null;
  per_minute: number;
  /** When it is sent, about; null when something must happen first. */
  starts_at: string | null;
}

/** An entry is not sent before its order was read again from the shop. */
export interface AwaitedRecheck {
  readonly since: string;
  /** Why the order could not be read the last time; null: it was not tried yet. */
  readonly problem: string | null;
}

/** The things that an entry waits for before it is sent. */
export interface Awaited {
  readonly awaitsRecheck: AwaitedRecheck | null;
  /** The name of a key: another one may be of another account. */
  readonly waitsForKey: string | null;
}

/** Why such an entry is not sent, for people; empty when it waits for nothing. */
export function waitTexts({ awaitsRecheck, waitsForKey }: Awaited): readonly string[] {
  const own = `it was sent with the key ${waitsForKey}, so only that key sends it again, until another key is known to belong to the same account`;
  return [
    ...(awaitsRecheck === null ? [] : [recheckText(awaitsRecheck)]),
    ...(waitsForKey === null ? [] : [own]),
  ];
}

function recheckText({ since, problem }: AwaitedRecheck): string {
  const why = `the order must be read again from the shop before it is bought; it has waited for this since ${since}`;
  return problem === null ? why : `${why}; the last try failed: ${problem}`;
}
