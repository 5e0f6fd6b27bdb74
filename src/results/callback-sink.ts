import { Buffer } from 'node:buffer';
import { createHash, createHmac } from 'node:crypto';
import { Agent, request } from 'undici';
import type { Clock } from '../core/clock.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { renderResultDocument, type ResultDocument } from '../core/result/result-document.ts';
import type { Delivery, Sink } from './delivery-loop.ts';
import type { CallbackSettings } from './settings.ts';

interface CallbackDeps {
  /** Read before each post: a reload can change it. */
  readonly receiver: () => CallbackSettings;
  readonly clock: Clock;
  readonly version: string;
  /** Stretches every retry delay; 1 in production. */
  readonly retryTimeScale: number;
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

/**
 * Posts each result to a receiver, signed, at least once. Only a 2xx confirms it. A redirect is never followed, because
 * delivered codes would go to an address that nobody configured.
 */
export class CallbackSink implements Sink {
  readonly name = 'callback';
  readonly stopGraceMs = 2000;
  readonly #deps: CallbackDeps;

  constructor(deps: CallbackDeps) {
    this.#deps = deps;
  }

  retryDelayMs(failures: number): number | null {
    const delayMs = retryDelaysMs[failures - 1];
    return delayMs === undefined ? null : Math.round(delayMs * this.#deps.retryTimeScale);
  }

  async deliver(document: ResultDocument, delivery: Delivery): Promise<void> {
    const { clock, version } = this.#deps;
    const { url, secret, connectMs, totalMs } = this.#deps.receiver();
    const body = renderResultDocument(document);
    const deadline = AbortSignal.timeout(totalMs);
    // One connection for each post: the rest of an earlier answer is never read as the answer to this post.
    const agent = new Agent({
      // Set here, because NODE_TLS_REJECT_UNAUTHORIZED could turn verification off, and codes are as good as money.
      connect: { timeout: connectMs, rejectUnauthorized: true },
      pipelining: 0,
      connections: 1,
      allowH2: false,
    });
    try {
      const answer = await request(url, {
        method: 'POST',
        dispatcher: agent,
        headersTimeout: totalMs,
        bodyTimeout: totalMs,
        signal: AbortSignal.any([delivery.signal, deadline]),
        headers: {
          'content-type': 'application/json',
          'user-agent': `order-sync/${version}`,
          ...callbackHeaders(secret, { document, version: delivery.version, body, nowMs: clock.wallMs() }),
        },
        body,
      });
      // The status decides. The body is read only to let the receiver finish its answer.
      await answer.body.dump({ limit: answerBytes, signal: AbortSignal.timeout(1000) }).catch(() => undefined);
      if (answer.statusCode >= 200 && answer.statusCode < 300) return;
      throw refusal(answer.statusCode);
    } catch (error) {
      if (deadline.aborted && !delivery.signal.aborted) throw unreachable(`did not answer within ${totalMs} ms`, error);
      throw error instanceof OrderSyncError ? error : unreachable(reasonOf(error), error);
    } finally {
      await agent.destroy();
    }
  }
}

function refusal(status: number): OrderSyncError {
  const isRedirect = status >= 300 && status < 400;
  const why = isRedirect ? ': a redirect is not followed, configure the final address' : '';
  return new OrderSyncError('UNREACHABLE', `the receiver answered ${status}${why}`, {
    hint: 'see results.callback in the configuration',
  });
}

function unreachable(why: string, cause: unknown): OrderSyncError {
  return new OrderSyncError('UNREACHABLE', `the receiver could not be reached: ${why}`, { cause });
}

/** The code of a network error. Its message is not shown: it may repeat parts of the request. */
function reasonOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? error.name : 'unknown';
}

/**
 * The headers of the Standard Webhooks scheme (standardwebhooks.com). The id is the same at each try of one version of
 * a result, by which the receiver recognises a repetition. The signature covers id, time and body.
 */
function callbackHeaders(
  secret: string,
  message: { document: ResultDocument; version: number; body: string; nowMs: number },
): Record<string, string> {
  const { document, version, body, nowMs } = message;
  const subject = JSON.stringify([document.source, document.order_id, version]);
  const id = `msg_${createHash('sha256').update(subject).update(body).digest('hex').slice(0, 32)}`;
  const timestamp = String(Math.floor(nowMs / 1000));
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}
