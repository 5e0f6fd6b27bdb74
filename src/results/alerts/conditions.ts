import { headlineOf } from '../../core/operator/headline.ts';
import type { Attention } from '../../store/read/attention.ts';
import type { PauseEffect } from '../../store/read/pause-effects.ts';
import { heldUpBy, type ReadAffected } from './held-up.ts';

/** A check of `/healthz` that does not pass: why, and what an operator does first. */
export interface Trouble {
  readonly check: string;
  readonly isFailed: boolean;
  readonly text: string;
}

/** What is wrong: a kind of rows of the attention list, a paused scope, or `check:<name>`. */
export interface Condition {
  readonly condition: string;
  readonly topic: 'attention' | 'paused' | 'deliveries' | 'disk' | 'health';
  readonly severity: 'critical' | 'warning';
  readonly message: string;
  readonly count: number;
  /** The times of its newest and its oldest row, in ms. */
  readonly newestMs: number;
  readonly sinceMs: number;
  readonly shops: readonly string[];
  readonly whatToDo: string;
  readonly heldUp: ReturnType<typeof heldUpBy>;
}

/** What is wrong, that which stops buying first. */
export function openConditions(
  rows: readonly Attention[],
  troubles: readonly Trouble[],
  pauses: readonly PauseEffect[],
  nowMs: number,
  affectedBy: ReadAffected = null,
): readonly Condition[] {
  const ofRows = [...Map.groupBy(rows, conditionOf)].map(([condition, all]) =>
    conditionOfRows(condition, all, heldUpBy(all, pauses, affectedBy, nowMs)),
  );
  const ofChecks = troubles.map(({ check, isFailed, text }): Condition => {
    const condition = `check:${check}`;
    return {
      condition,
      topic: topicOf(condition),
      severity: isFailed ? 'critical' : 'warning',
      message: text,
      count: 1,
      newestMs: 0,
      sinceMs: nowMs,
      shops: [],
      whatToDo: '`order-sync health --strict` says the same',
      heldUp: { count: 0, text: '' },
    };
  });
  return [...ofRows, ...ofChecks].toSorted((a, b) => a.severity.localeCompare(b.severity));
}

function conditionOfRows(
  condition: string,
  rows: readonly Attention[],
  heldUp: Condition['heldUp'],
): Condition {
  const times = rows.map(({ since }) => Date.parse(since));
  const headline = (row: Attention): string =>
    headlineOf({ ...row, subject: rows.length === 1 ? row.scope : null });
  const messages = [...Map.groupBy(rows, headline)].map(
    ([text, { length }]) => `${text}${length === 1 ? '' : ` (${length})`}`,
  );
  return {
    condition,
    topic: topicOf(condition),
    severity: isCritical(condition, rows[0]?.code, heldUp.count) ? 'critical' : 'warning',
    message: messages.join('; '),
    count: rows.length,
    newestMs: Math.max(...times),
    sinceMs: Math.min(...times),
    shops: [...new Set(rows.flatMap(({ source }) => source ?? []))].toSorted(),
    whatToDo: rows[0]?.whatToDo ?? '',
    heldUp,
  };
}

/** Each pause is one, but those of products together, and those of sinks. */
export function conditionOf({ kind, id }: Pick<Attention, 'kind' | 'id'>): string {
  if (kind !== 'pause') return kind;
  if (id.startsWith('sink:')) return 'sink';
  return /^pause:(?:variant|plan):/.test(id) ? 'pause' : id;
}

function topicOf(condition: string): Condition['topic'] {
  if (condition.startsWith('check:')) return condition === 'check:disk' ? 'disk' : 'health';
  if (condition.startsWith('pause')) return 'paused';
  return condition === 'sink' || condition === 'delivery' ? 'deliveries' : 'attention';
}

/**
 * Critical conditions stop buying, or may lose orders; the others can wait for the morning. A pause of a
 * key, balance or family stops buying if it holds up orders and nobody asked for it.
 */
const isCritical = (condition: string, code: string | undefined, heldUp: number): boolean =>
  /^(?:older_copy|key_used_elsewhere|pause:account)$/.test(condition) ||
  (condition.startsWith('pause:') &&
    heldUp > 0 &&
    code !== 'manual' &&
    code !== 'connector_unproven');
