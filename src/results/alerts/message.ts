import { hash } from 'node:crypto';
import { isoTime, shortDuration, shortTime } from '../../core/clock.ts';
import { headlineOf } from '../../core/operator/headline.ts';
import type { AttentionGroup } from '../../store/read/attention.ts';
import { conditionOf, type Condition } from './conditions.ts';
import type { News } from './news.ts';

/** An alert in every form; its id is the same when it is sent again. */
export interface AlertMessage {
  readonly id: string;
  readonly event: object;
  readonly subject: string;
  readonly text: string;
}

interface AlertContext {
  readonly instance: string;
  readonly nowMs: number;
  /** The post before: the same at another time is another message. */
  readonly after: number | null;
  readonly pagesUrl: string | null;
  readonly causes: readonly AttentionGroup[];
}

const shownOfEach = 10;

export function alertMessage(
  { firing, ended, still, isReminder }: News,
  context: AlertContext,
): AlertMessage {
  const { instance, nowMs, after } = context;
  const over = ended.map(({ message, sinceMs, endedMs, heldUp: { text } }) => {
    const held = text === '' ? '' : ` and held up ${text}`;
    return `Over: ${message}. It lasted ${shortDuration(endedMs - sinceMs)}${held}`;
  });
  const titles = [...firing.map((one) => `${one.severity}: ${one.message}`), ...over];
  const more = titles.length > 1 ? ` (and ${titles.length - 1} more)` : '';
  const about = firing.map(({ condition, count, newestMs }) => [condition, count, newestMs]);
  const resolved = ended.map(({ condition }) => condition);
  const subject = `order-sync ${instance}: ${isReminder ? 'reminder, ' : ''}${titles[0]}${more}`;
  const lines = [
    ...firing.flatMap((one) => conditionLines(context, one)),
    ...over,
    ...still.map(({ message, sinceMs }) => `Still: ${message}, ${since(sinceMs, nowMs)}`),
  ];
  return {
    id: hash('sha256', JSON.stringify([instance, after, about, resolved])).slice(0, 32),
    event: {
      type: 'alert',
      timestamp: isoTime(nowMs),
      data: {
        instance,
        reminder: isReminder,
        firing: firing.map((one) => eventOf(context, one)),
        resolved,
        ended: over,
        still: still.map(({ condition }) => condition),
      },
    },
    subject,
    text: [subject, '', ...lines].join('\n'),
  };
}

/** An alert about nothing, to see whether alerts arrive. */
export function testMessage(instance: string, nowMs: number): AlertMessage {
  const subject = `order-sync ${instance}: test alert`;
  const data = { instance, test: true, firing: [], resolved: [] };
  const event = { type: 'alert', timestamp: isoTime(nowMs), data };
  return { id: `test-${nowMs}`, event, subject, text: subject };
}

const since = (sinceMs: number, nowMs: number): string =>
  `since ${shortTime(isoTime(sinceMs))} (${shortDuration(nowMs - sinceMs)})`;

const causesOf = ({ causes }: AlertContext, condition: string): readonly AttentionGroup[] =>
  causes.filter((cause) => conditionOf(cause) === condition).slice(0, shownOfEach);

function eventOf(context: AlertContext, open: Condition) {
  const { condition, topic, severity, count, message, shops, sinceMs, heldUp, whatToDo } = open;
  return {
    condition,
    topic,
    severity,
    count,
    message,
    shops,
    since: isoTime(sinceMs),
    held_up: heldUp.text,
    what_to_do: whatToDo,
    link: linkOf(context, condition)[0] ?? null,
    examples: causesOf(context, condition).map((cause) => ({
      id: cause.id,
      source: cause.source,
      order_id: cause.orderId,
      code: cause.code,
      count: cause.count,
      about: cause.subject,
      sources: cause.sources,
      since: cause.since,
      holds_up: cause.holdsUp,
      what_to_do: cause.whatToDo,
    })),
  };
}

function linkOf({ pagesUrl }: AlertContext, condition: string): readonly string[] {
  const kind = condition.replace(/:.*/, '');
  const path = kind === 'check' ? '/' : kind === 'sink' ? '/deliveries' : `/attention?kind=${kind}`;
  return pagesUrl === null ? [] : [`${pagesUrl}${path}`];
}

function conditionLines(context: AlertContext, open: Condition): readonly string[] {
  const { condition, severity, message, sinceMs, heldUp, shops, whatToDo } = open;
  const causes = causesOf(context, condition);
  const advice = new Set([whatToDo, ...causes.map((cause) => cause.whatToDo)]);
  const headlines = causes.length === 0 ? [message] : causes.map(causeText);
  const where = shops.length === 0 ? '' : `, in ${shops.slice(0, shownOfEach).join(', ')}`;
  const held = heldUp.text === '' ? '' : `, holds up ${heldUp.text}`;
  return [
    ...headlines.map((headline) => `${severity.toUpperCase()}: ${headline}`),
    `   ${since(sinceMs, context.nowMs)}${where}${held}`,
    ...[...advice].map((text) => `   To do: ${text}`),
    ...linkOf(context, condition).map((link) => `   ${link}`),
  ];
}

function causeText(cause: AttentionGroup): string {
  const { count, code, subject, scope, id, orderId, kind, message } = cause;
  const example = `${count === 1 ? ': ' : ': for example '}${orderId === null ? id : `order ${orderId}`}`;
  const times = count === 1 ? '' : `, ${count} times`;
  const held = scope === null ? '' : `, holds up ${cause.holdsUp}`;
  return `${headlineOf(cause)}${subject === null ? example : ''}${times}${held} (${kind === 'money' ? message : code})`;
}
