import { Buffer } from 'node:buffer';
import { createHash, createHmac } from 'node:crypto';
import type { ResultDocument } from '../core/result/result-document.ts';

/**
 * The headers of the Standard Webhooks scheme (standardwebhooks.com): the id is the same at each try of a version of a
 * result, so that the receiver can tell a repetition; the signature covers id, time and body.
 * @param secret `whsec_` and base64
 */
export function callbackHeaders(
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
