import { Buffer } from 'node:buffer';
import { createHmac, randomUUID } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import type { WooCommerceRest } from './settings.ts';

/**
 * The `Authorization` of a call. WooCommerce takes the keys themselves over TLS only. Over plain
 * http, which is allowed on this machine, it wants OAuth 1.0a without a token: a signature for the
 * address in its settings that holds once, within 15 minutes.
 */
export function authorizationOf(
  { url, consumerKey, consumerSecret }: WooCommerceRest,
  clock: Pick<Clock, 'wallMs'>,
): (method: string, path: string) => string {
  const basic = Buffer.from(`${consumerKey}:${consumerSecret}`).toString('base64');
  if (url.startsWith('https:')) return () => `Basic ${basic}`;
  return (method, path) => {
    const { origin, pathname, searchParams } = new URL(path, url);
    const own = {
      oauth_consumer_key: consumerKey,
      oauth_nonce: randomUUID(),
      oauth_signature_method: 'HMAC-SHA256',
      oauth_timestamp: String(Math.floor(clock.wallMs() / 1000)),
    };
    const pairs = [...searchParams, ...Object.entries(own)].map(
      ([name, value]) => `${encoded(name)}=${encoded(value)}`,
    );
    const signed = [method, origin + pathname, pairs.toSorted().join('&')].map(encoded).join('&');
    const signature = createHmac('sha256', `${consumerSecret}&`).update(signed).digest('base64');
    const fields = Object.entries({ ...own, oauth_signature: signature });
    return `OAuth ${fields.map(([name, value]) => `${name}="${encoded(value)}"`).join(', ')}`;
  };
}

/** RFC 3986. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
