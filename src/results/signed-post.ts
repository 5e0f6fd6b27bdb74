import { Buffer } from 'node:buffer';
import { createHmac } from 'node:crypto';
import type { Clock } from '../core/clock.ts';
import { plainHeaders, retryAfterMs } from '../core/http-headers.ts';
import { codeOf } from '../core/order-sync-error.ts';
import { DeliveryError } from '../core/result/delivery-error.ts';
import { Deadline } from '../ops/deadline.ts';
import { type OpenConnections, openConnections } from '../ops/outgoing-http.ts';

interface PostReceiver {
  /** Often a secret: an address of Slack lets its holder post. */
  readonly url: string;
  /**
   * `whsec_` and base64, each. Every post is signed with all of them, so one can be replaced; none:
   * it is not signed.
   */
  readonly secrets: readonly string[];
  readonly connectMs: number;
  /** From the start of a post to the status of its answer. */
  readonly totalMs: number;
}

export interface PostDeps {
  readonly clock: Clock;
  readonly version: string;
  readonly signal: AbortSignal;
  /** The key of the configuration that has the receiver, for hints. */
  readonly configKey: string;
  /** Absent: real connections. */
  readonly connect?: OpenConnections;
}

/** At most this much of an answer's body is read; only its status is needed. */
const answerBytes = 16_384;

/**
 * Posts a JSON body, signed by the Standard Webhooks scheme. Only a 2xx resolves, to its status. A redirect is
 * never followed: its address is one that nobody configured.
 * @param message `id`: the same at each try of one message
 * @throws DeliveryError
 */
export async function postSigned(
  { url, secrets, connectMs, totalMs }: PostReceiver,
  { id, body }: { readonly id: string; readonly body: string },
  { clock, version, signal, configKey, connect = openConnections }: PostDeps,
): Promise<number> {
  const { origin, pathname, search } = new URL(url);
  const deadline = new Deadline(clock, totalMs, signal);
  // One connection for each post: the rest of an earlier answer is never read as the answer to this
  // post.
  const connections = connect(origin, { connectMs, kept: 0 });
  try {
    const answer = await connections.request({
      method: 'POST',
      path: `${pathname}${search}`,
      signal: deadline.signal,
      headers: {
        'content-type': 'application/json',
        'user-agent': `order-sync/${version}`,
        ...messageHeaders(secrets, `msg_${id}`, body, clock.wallMs()),
      },
      body,
    });
    // The status decides. The body is read only to let the receiver finish its answer.
    await answer.body
      .dump({ limit: answerBytes, signal: AbortSignal.timeout(1000) })
      .catch(() => undefined);
    if (answer.statusCode >= 200 && answer.statusCode < 300) return answer.statusCode;
    const { statusCode, headers: given } = answer;
    throw refusal(statusCode, retryAfterMs(plainHeaders(given), clock.wallMs()), configKey);
  } catch (error) {
    const isOver = deadline.isOver && !signal.aborted;
    if (error instanceof DeliveryError && !isOver) throw error;
    const reason = isOver ? 'timeout' : reasonOf(error);
    const why = isOver ? `did not answer within ${totalMs} ms` : reason;
    throw new DeliveryError(`the receiver could not be reached: ${why}`, { reason, cause: error });
  } finally {
    deadline.end();
    await connections.destroy();
  }
}

/** Statuses with which a receiver that works refuses one body. */
const refusesBody: readonly number[] = [400, 406, 409, 413, 415, 422];

function refusal(status: number, askedMs: number | null, configKey: string): DeliveryError {
  const isRedirect = status >= 300 && status < 400;
  const why = isRedirect ? ': a redirect, which is not followed; configure the final address' : '';
  return new DeliveryError(`the receiver answered ${status}${why}`, {
    reason: `http_${status}`,
    refusesResult: refusesBody.includes(status),
    retryAfterMs: status === 429 || status === 503 ? askedMs : null,
    hint: `see ${configKey} in the configuration`,
  });
}

/** The code of a network error. Its message is not shown: it may repeat parts of the request. */
function reasonOf(error: unknown): string {
  return codeOf(error) ?? (error instanceof Error ? error.name : 'unknown');
}

/**
 * The headers of the Standard Webhooks scheme (standardwebhooks.com). By the id the receiver
 * recognises a repetition.
 */
function messageHeaders(
  secrets: readonly string[],
  id: string,
  body: string,
  nowMs: number,
): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  const signature = signatures.length === 0 ? {} : { 'webhook-signature': signatures.join(' ') };
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, ...signature };
}
