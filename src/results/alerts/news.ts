import { hash } from 'node:crypto';
import { isoTime, shortTime } from '../../core/clock.ts';
import type { AlertCondition, AlertRow } from '../../store/alerts/alerts.ts';
import type { AttentionGroup } from '../../store/read/attention.ts';
import type { AlertSettings } from '../settings.ts';

/** A check of `/healthz` that does not pass: why, and what an operator does first. */
export interface Trouble {
  readonly check: string;
  readonly isFailed: boolean;
  readonly text: string;
}

interface OpenCondition extends AlertCondition {
  readonly topic: 'attention' | 'paused' | 'deliveries' | 'disk' | 'health';
  readonly severity: 'critical' | 'warning';
  readonly message: string;
  /** The time of its oldest row, in ms; null where there are no rows. */
  readonly sinceMs: number | null;
  /** The shops that it concerns, in order of their names. */
  readonly shops: readonly string[];
  readonly whatToDo: string;
}

export interface News {
  readonly firing: readonly OpenCondition[];
  readonly resolved: readonly string[];
  /** The conditions that the endpoint knows when this was posted. */
  readonly toldThen: readonly AlertCondition[];
}

const shownOfEach = 10;

export function openConditions(
  rows: readonly AlertRow[],
  troubles: readonly Trouble[],
): readonly OpenCondition[] {
  const grouped = Map.groupBy(rows, conditionOf);
  const ofRows = [...grouped].map(([condition, all]): OpenCondition => {
    const newestFirst = all.toSorted((a, b) => b.sinceMs - a.sinceMs);
    return {
      condition,
      topic: topicOf(condition),
      severity: severityOf(condition, all),
      message: `${all.length} ${sentences[condition] ?? condition}`,
      count: all.length,
      newestMs: newestFirst[0]?.sinceMs ?? 0,
      sinceMs: newestFirst.at(-1)?.sinceMs ?? null,
      shops: [...new Set(all.flatMap(({ source }) => source ?? []))].toSorted((a, b) =>
        a.localeCompare(b),
      ),
      whatToDo: newestFirst[0]?.whatToDo ?? '',
    };
  });
  const ofChecks = troubles.map(({ check, isFailed, text: message }): OpenCondition => {
    const condition = `check:${check}`;
    const facts = {
      topic: topicOf(condition),
      severity: isFailed ? 'critical' : 'warning',
      message,
    } as const;
    const whatToDo = '`order-sync health --strict` says the same';
    return { condition, ...facts, count: 1, newestMs: 0, sinceMs: null, shops: [], whatToDo };
  });
  return [...ofRows, ...ofChecks];
}

/**
 * Fewer rows are no news. Unless `complete`, there are more rows than these: a condition
 * that is not among them may still be open.
 */
export function newsSince(
  told: readonly AlertCondition[],
  open: readonly OpenCondition[],
  complete: boolean,
): News {
  const known = new Map(told.map((one) => [one.condition, one]));
  const firing = open.filter(({ condition, count, newestMs }) => {
    const before = known.get(condition);
    return before === undefined || count > before.count || newestMs > before.newestMs;
  });
  const names = new Set(open.map(({ condition }) => condition));
  const { ended = [], unseen = [] } = Object.groupBy(
    told.filter(({ condition }) => !names.has(condition)),
    ({ condition }) => (complete || condition.startsWith('check:') ? 'ended' : 'unseen'),
  );
  const seen = open.map(({ condition, count, newestMs }) => ({ condition, count, newestMs }));
  return {
    firing,
    resolved: ended.map(({ condition }) => condition),
    toldThen: [...seen, ...unseen],
  };
}

/** Rows of paused sinks are about deliveries, those of paused scopes about buying. */
function conditionOf({ kind, id }: Pick<AlertRow, 'kind' | 'id'>): string {
  return kind === 'pause' && id.startsWith('sink:') ? 'sink' : kind;
}

function topicOf(condition: string): OpenCondition['topic'] {
  if (condition === 'check:disk') return 'disk';
  if (condition.startsWith('check:')) return 'health';
  if (condition === 'pause') return 'paused';
  return condition === 'sink' || condition === 'delivery' ? 'deliveries' : 'attention';
}

const sentences: Readonly<Record<string, string>> = {
  needs_review: 'entries need a decision',
  held: 'entries are held',
  unknown: 'outcomes have been unknown for a quarter of an hour',
  waiting: 'orders have waited for an hour',
  rejected: 'paid lines were rejected by the API',
  expired: 'paid lines were not bought before their deadline',
  needs_manual_delivery: 'lines wait for units that an operator must enter',
  shown_twice: 'delivered units were shown for other orders, too',
  uncounted_cost: 'orders have a cost that cannot be read',
  invalid_line: 'order lines were not accepted',
  storefront: 'orders of shops need a look',
  invalid_file: 'order files were refused',
  delivery: 'results were given up: the shop does not have them',
  older_copy: 'database is an older copy',
  key_used_elsewhere: 'keys are used by somebody else, too',
  pause: 'scopes are paused: their orders wait',
  sink: 'sinks take no results',
};

/** A condition that stops buying, or may lose orders, is critical; others can wait for the morning. */
const critical: ReadonlySet<string> = new Set(['older_copy', 'key_used_elsewhere']);

function severityOf(condition: string, rows: readonly AlertRow[]): 'critical' | 'warning' {
  return critical.has(condition) || rows.some(({ id }) => id === 'pause:account')
    ? 'critical'
    : 'warning';
}

interface AlertContext {
  readonly instance: string;
  readonly nowMs: number;
  /** Names the post before, because the same condition at another time is another message. */
  readonly after: string;
  readonly pagesUrl: string | null;
  readonly causes: readonly AttentionGroup[];
}

const causesOf = ({ causes }: AlertContext, condition: string): readonly AttentionGroup[] =>
  causes.filter((cause) => conditionOf(cause) === condition).slice(0, shownOfEach);

/** One alert, as it is posted. Its id is the same when the same news is posted again. */
export function alertMessage(news: News, format: AlertSettings['format'], context: AlertContext) {
  const { instance, after } = context;
  const subject = news.firing.map(({ condition, count, newestMs }) => [condition, count, newestMs]);
  const id = hash('sha256', JSON.stringify([instance, after, subject, news.resolved]), 'hex').slice(
    0,
    32,
  );
  const body = format === 'slack' ? { text: slackText(context, news) } : eventOf(context, news);
  return { id, body: `${JSON.stringify(body)}\n` };
}

function eventOf(context: AlertContext, { firing, resolved }: News) {
  const { instance, nowMs, pagesUrl } = context;
  const told = firing.map((condition) => {
    const { newestMs: _, sinceMs, whatToDo, ...open } = condition;
    const examples = causesOf(context, open.condition).map(
      ({ id, source, orderId, code, since, ...cause }) => {
        const { count, subject: about, sources, holdsUp, whatToDo: next } = cause;
        return {
          id,
          source,
          order_id: orderId,
          code,
          count,
          about,
          sources,
          since,
          holds_up: holdsUp,
          what_to_do: next,
        };
      },
    );
    const since = sinceMs === null ? null : isoTime(sinceMs);
    return { ...open, since, what_to_do: whatToDo, link: linkOf(pagesUrl, condition), examples };
  });
  return { type: 'alert', timestamp: isoTime(nowMs), data: { instance, firing: told, resolved } };
}

function linkOf(pagesUrl: string | null, { condition, topic }: OpenCondition): string | null {
  if (pagesUrl === null) return null;
  const path =
    topic === 'attention'
      ? `/attention?kind=${condition}`
      : condition === 'sink'
        ? '/deliveries'
        : '/';
  return `${pagesUrl}${path}`;
}

function slackText(context: AlertContext, { firing, resolved }: News): string {
  const { instance, pagesUrl } = context;
  const lines = firing.flatMap((open) => {
    const { condition, severity, message, shops, whatToDo } = open;
    const causes = causesOf(context, condition);
    const advice = new Set(
      causes.length === 0 ? [whatToDo] : causes.map((cause) => cause.whatToDo),
    );
    const where = shops.length === 0 ? '' : ` in ${shops.slice(0, shownOfEach).join(', ')}`;
    const link = linkOf(pagesUrl, open);
    return [
      `• ${severity}: ${slackSafe(`${message}${where}`)}`,
      ...causes.map((cause) => `   ${slackSafe(causeText(cause))}`),
      ...[...advice].map((text) => `   To do: ${slackSafe(text)}`),
      ...(link === null ? [] : [`   ${link}`]),
    ];
  });
  const ended = resolved.length === 0 ? [] : [`Resolved: ${resolved.join(', ')}`];
  return [`order-sync ${slackSafe(instance)}`, ...lines, ...ended].join('\n');
}

function causeText({
  count,
  code,
  subject,
  sources,
  since,
  scope,
  holdsUp,
  id,
  orderId,
}: AttentionGroup): string {
  const example = `${count === 1 ? '' : 'for example '}${orderId === null ? id : `order ${orderId}`}`;
  const shops = sources > 1 ? ` in ${sources} shops` : '';
  const held = scope === null ? '' : `; holds up ${holdsUp}`;
  return `${count} x ${code} ${subject ?? example}${shops}, since ${shortTime(since)}${held}`;
}

/** An id must not make a link or a mention of everybody. */
function slackSafe(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
