import type { AlertCondition, AlertRow } from '../../store/alerts/alerts.ts';
import type { AlertTopic } from '../settings.ts';

/** Something that is wrong now, with the rows that show it. */
export interface OpenCondition extends AlertCondition {
  readonly topic: AlertTopic;
  /** Some of its rows, the newest first. */
  readonly examples: readonly AlertRow[];
}

/** The conditions that hold now. */
export interface Findings {
  readonly open: readonly OpenCondition[];
  /** False: there are more rows than were looked at, so a condition that is not found may be open. */
  readonly complete: boolean;
}

/** The news for an endpoint. */
export interface News {
  readonly firing: readonly OpenCondition[];
  /** The names of conditions that ended. */
  readonly resolved: readonly string[];
}

const examplesOfEach = 5;

/** The conditions that rows of the attention list and failing checks are. */
export function openConditions(rows: readonly AlertRow[], failing: readonly string[]): readonly OpenCondition[] {
  const grouped = Map.groupBy(rows, conditionOf);
  const ofRows = [...grouped].map(([condition, all]): OpenCondition => {
    const newestFirst = all.toSorted((a, b) => b.sinceMs - a.sinceMs);
    return {
      condition,
      topic: topicOf(condition),
      count: all.length,
      newestMs: newestFirst[0]?.sinceMs ?? 0,
      examples: newestFirst.slice(0, examplesOfEach),
    };
  });
  const ofChecks = failing.map((check): OpenCondition => {
    const condition = `check:${check}`;
    return { condition, topic: topicOf(condition), count: 1, newestMs: 0, examples: [] };
  });
  return [...ofRows, ...ofChecks];
}

/** The news since the last post to an endpoint. Fewer rows than before are no news. */
export function newsSince(told: readonly AlertCondition[], { open, complete }: Findings): News {
  const known = new Map(told.map((one) => [one.condition, one]));
  const names = new Set(open.map(({ condition }) => condition));
  const firing = open.filter(({ condition, count, newestMs }) => {
    const before = known.get(condition);
    return before === undefined || count > before.count || newestMs > before.newestMs;
  });
  const resolved = told
    .map(({ condition }) => condition)
    .filter((condition) => !names.has(condition) && (complete || condition.startsWith('check:')));
  return { firing, resolved };
}

/** The conditions that an endpoint knows after `open` was posted to it; a condition that could not be seen stays as it was. */
export function toldAfter(told: readonly AlertCondition[], { open, complete }: Findings): readonly AlertCondition[] {
  const names = new Set(open.map(({ condition }) => condition));
  const unseen = told.filter(({ condition }) => !names.has(condition) && !complete && !condition.startsWith('check:'));
  return [...open.map(({ condition, count, newestMs }) => ({ condition, count, newestMs })), ...unseen];
}

/** Rows of paused sinks are about deliveries, those of paused scopes about buying. */
function conditionOf({ kind, id }: AlertRow): string {
  return kind === 'pause' && id.startsWith('sink:') ? 'sink' : kind;
}

function topicOf(condition: string): AlertTopic {
  if (condition === 'check:disk') return 'disk';
  if (condition.startsWith('check:')) return 'health';
  if (condition === 'pause') return 'paused';
  return condition === 'sink' || condition === 'delivery' ? 'deliveries' : 'attention';
}
