import { createHash } from 'node:crypto';
import { isoTime } from '../../core/clock.ts';
import type { AlertSettings } from '../settings.ts';
import type { News, OpenCondition } from './conditions.ts';

/** The sentence of an alert about each condition, by its name. */
const sentences: Readonly<Record<string, string>> = {
  needs_review: 'entries need a decision',
  held: 'entries are held',
  unknown: 'outcomes have been unknown for a quarter of an hour',
  waiting: 'orders have waited for an hour',
  rejected: 'paid lines were rejected by the API',
  expired: 'paid lines were not bought before their deadline',
  needs_manual_delivery: 'lines wait for units that a person must enter',
  refused_line: 'order lines were not accepted',
  storefront: 'orders of shops need a look',
  refused_file: 'order files were refused',
  delivery: 'results were given up: the shop does not have them',
  older_copy: 'database is an older copy',
  key_used_elsewhere: 'keys are used by somebody else, too',
  pause: 'scopes are paused: their orders wait',
  sink: 'sinks take no results',
};

interface MessageContext {
  readonly instance: string;
  readonly nowMs: number;
  /** The post before: two alerts about the same condition at different times are different messages. */
  readonly after: string;
}

/** One alert, as it is posted. Its id is the same when the same news is posted again. */
export function alertMessage(
  news: News,
  format: AlertSettings['format'],
  { instance, nowMs, after }: MessageContext,
): { readonly id: string; readonly body: string } {
  const subject = news.firing.map(({ condition, count, newestMs }) => [condition, count, newestMs]);
  const id = createHash('sha256')
    .update(JSON.stringify([instance, after, subject, news.resolved]))
    .digest('hex');
  const body = format === 'slack' ? { text: slackText(instance, news) } : eventOf(instance, news, nowMs);
  return { id: id.slice(0, 32), body: `${JSON.stringify(body)}\n` };
}

function eventOf(instance: string, { firing, resolved }: News, nowMs: number) {
  return {
    type: 'alert',
    timestamp: isoTime(nowMs),
    data: {
      instance,
      firing: firing.map(({ condition, topic, count, examples }) => ({
        condition,
        topic,
        count,
        message: sentenceOf({ condition, count }),
        examples: examples.map(({ id, source, orderId, code, sinceMs, whatToDo }) => ({
          id,
          source,
          order_id: orderId,
          code,
          since: isoTime(sinceMs),
          what_to_do: whatToDo,
        })),
      })),
      resolved,
    },
  };
}

function slackText(instance: string, { firing, resolved }: News): string {
  const lines = firing.flatMap((condition) => [
    `• ${sentenceOf(condition)}`,
    ...condition.examples.map(
      ({ id, orderId, code }) => `   ${slackSafe(orderId === null ? id : `order ${orderId}`)}: ${slackSafe(code)}`,
    ),
  ]);
  const ended = resolved.length === 0 ? [] : [`Resolved: ${resolved.join(', ')}`];
  return [`order-sync ${slackSafe(instance)}`, ...lines, ...ended].join('\n');
}

function sentenceOf({ condition, count }: Pick<OpenCondition, 'condition' | 'count'>): string {
  const check = condition.startsWith('check:') ? condition.slice('check:'.length) : null;
  if (check !== null) return `the check ${check} of the worker fails: \`order-sync health --strict\` says why`;
  return `${count} ${sentences[condition] ?? condition}`;
}

/** An id must not make a link or a mention of everybody. */
function slackSafe(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
