import { Buffer } from 'node:buffer';
import { createHash, createHmac } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../core/clock.ts';
import { plainHeaders, retryAfterMs } from '../core/http-headers.ts';
import { DeliveryError } from '../core/result/delivery-error.ts';
import { renderResultDocument, type ResultDocument } from '../core/result/result-document.ts';
import { readConfirmed, resultEvents } from '../core/result/result-events.ts';
import { Deadline } from '../ops/deadline.ts';
import { type OpenConnections, openConnections } from '../ops/outgoing-http.ts';
import type { Delivery, Sink } from './delivery-loop.ts';
import type { CallbackSettings } from './settings.ts';

interface CallbackDeps {
  /** The name of the endpoint. */
  readonly endpoint: string;
  /** Read before each post: a reload can change it. */
  readonly receiver: () => CallbackSettings;
  readonly clock: Clock;
  readonly version: string;
  /** Stretches every retry delay; 1 in production. */
  readonly retryTimeScale: number;
  /** Absent: real connections. */
  readonly connect?: OpenConnections;
}

const minutes = (count: number): number => count * 60_000;
/** The delay after each failure, as Standard Webhooks recommends: about three days, then the delivery is given up. */
const retryDelaysMs = [
  5000,
  minutes(5),
  minutes(30),
  minutes(120),
  minutes(300),
  minutes(600),
  minutes(840),
  minutes(1200),
  minutes(1440),
];
/** At most this much of an answer's body is read; only its status is needed. */
const answerBytes = 16_384;

/** Deliveries to an endpoint are recorded under this name. */
export const callbackSinkName = (endpoint: string): string => `callback:${endpoint}`;

/**
 * Posts each result to a receiver, signed, at least once. Only a 2xx confirms it. A redirect is never followed, because
 * delivered codes would go to an address that nobody configured.
 */
export class CallbackSink implements Sink {
  readonly name: string;
  readonly stopGraceMs = 2000;
  readonly #deps: CallbackDeps;

  constructor(deps: CallbackDeps) {
    this.#deps = deps;
    this.name = callbackSinkName(deps.endpoint);
  }

  retryDelayMs(failures: number): number | null {
    const delayMs = retryDelaysMs[failures - 1];
    return delayMs === undefined ? null : Math.round(delayMs * this.#deps.retryTimeScale);
  }

  async deliver(document: ResultDocument, delivery: Delivery): Promise<void | 'no_call'> {
    const { events: wants } = this.#deps.receiver();
    if (wants === null) {
      const body = renderResultDocument(document);
      const subject = JSON.stringify([document.source, document.order_id, delivery.version]);
      const id = createHash('sha256').update(subject).update(body).digest('hex').slice(0, 32);
      return await this.#post(id, body, delivery.signal);
    }
    const confirmed = readConfirmed(delivery.confirmed);
    const { events, after } = resultEvents(document, delivery.version, { wants, confirmed });
    for (const { id, body, confirms } of events) {
      await this.#post(id, `${JSON.stringify(body, null, 2)}\n`, delivery.signal);
      await delivery.confirm(JSON.stringify(confirms));
    }
    if (events.length > 0) return;
    if (!isDeepStrictEqual(after, confirmed)) await delivery.confirm(JSON.stringify(after));
    return 'no_call';
  }

  async #post(id: string, body: string, signal: AbortSignal): Promise<void> {
    const { clock, version, connect = openConnections } = this.#deps;
    const { url, secrets, connectMs, totalMs } = this.#deps.receiver();
    const { origin, pathname, search } = new URL(url);
    const deadline = new Deadline(clock, totalMs, signal);
    // One connection for each post: the rest of an earlier answer is never read as the answer to this post.
    const connections = connect(origin, { connectMs, isKept: false });
    try {
      const answer = await connections.request({
        method: 'POST',
        path: `${pathname}${search}`,
        signal: deadline.signal,
        headers: {
          'content-type': 'application/json',
          'user-agent': `order-sync/${version}`,
          ...callbackHeaders(secrets, { id: `msg_${id}`, body, nowMs: clock.wallMs() }),
        },
        body,
      });
      // The status decides. The body is read only to let the receiver finish its answer.
      await answer.body.dump({ limit: answerBytes, signal: AbortSignal.timeout(1000) }).catch(() => undefined);
      if (answer.statusCode >= 200 && answer.statusCode < 300) return;
      const { statusCode, headers: given } = answer;
      throw refusal(statusCode, retryAfterMs(plainHeaders(given), clock.wallMs()));
    } catch (error) {
      if (deadline.isOver && !signal.aborted)
        throw unreachable(`did not answer within ${totalMs} ms`, 'timeout', error);
      throw error instanceof DeliveryError ? error : unreachable(reasonOf(error), reasonOf(error), error);
    } finally {
      deadline.end();
      await connections.destroy();
    }
  }
}

/** Statuses with which a receiver that works refuses one body. */
const refusesBody: readonly number[] = [400, 406, 409, 413, 415, 422];

function refusal(status: number, askedMs: number | null): DeliveryError {
  const isRedirect = status >= 300 && status < 400;
  const why = isRedirect ? ': a redirect is not followed, configure the final address' : '';
  return new DeliveryError(`the receiver answered ${status}${why}`, {
    reason: `http_${status}`,
    refusesResult: refusesBody.includes(status),
    retryAfterMs: status === 429 || status === 503 ? askedMs : null,
    hint: 'see results.callbacks in the configuration',
  });
}

function unreachable(why: string, reason: string, cause: unknown): DeliveryError {
  return new DeliveryError(`the receiver could not be reached: ${why}`, { reason, cause });
}

/** The code of a network error. Its message is not shown: it may repeat parts of the request. */
function reasonOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? error.name : 'unknown';
}

/**
 * The headers of the Standard Webhooks scheme (standardwebhooks.com). The id is the same at each try of one message, by which
 * the receiver recognises a repetition. Each signature covers id, time and body; there is one for each secret.
 */
function callbackHeaders(
  secrets: readonly string[],
  { id, body, nowMs }: { id: string; body: string; nowMs: number },
): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
