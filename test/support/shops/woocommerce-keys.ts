import { createHmac } from 'node:crypto';

interface SignedCall {
  readonly method: string;
  readonly url: URL;
  readonly authorization: string | undefined;
}

/** RFC 3986, as `rawurlencode` of PHP. */
const raw = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** As `WC_REST_Authentication::parse_header`. */
function fieldsOf(authorization: string): Map<string, string> {
  const found = authorization.matchAll(/(oauth_[a-z_-]*)="([^"]*)"/g);
  return new Map([...found].map(([, name = '', value = '']) => [name, decodeURIComponent(value)]));
}

/**
 * The keys of a WooCommerce shop, as its `WC_REST_Authentication` checks them: Basic only over TLS,
 * else OAuth 1.0a whose signature covers method, address and query, with a nonce that was not used.
 * The shop also refuses a time that differs by 15 minutes: http is for a shop on the same machine,
 * and tests set only one of the two clocks.
 */
export class WooCommerceKeys {
  readonly #key: string;
  readonly #secret: string;
  readonly #used = new Set<string>();

  constructor({ key, secret }: { readonly key: string; readonly secret: string }) {
    this.#key = key;
    this.#secret = secret;
  }

  /** Null: the call is made with the keys; else the message with which the shop refuses it. */
  refuses({ method, url, authorization = '' }: SignedCall): string | null {
    if (!authorization.startsWith('OAuth ')) {
      const pair = Buffer.from(`${this.#key}:${this.#secret}`).toString('base64');
      const isRight = url.protocol === 'https:' && authorization === `Basic ${pair}`;
      return isRight ? null : 'Sorry, you cannot list resources.';
    }
    const fields = fieldsOf(authorization);
    const signature = fields.get('oauth_signature');
    fields.delete('oauth_signature');
    if (fields.get('oauth_consumer_key') !== this.#key) return 'Consumer key is invalid.';
    const query = [...url.searchParams, ...fields].toSorted(([a], [b]) => (a < b ? -1 : 1));
    // As the shop does it: each name and value is encoded, then each pair anew, and the signs
    // between the pairs are `%26`.
    const joined = query.map(([name, value]) => raw(`${raw(name)}=${raw(value)}`)).join('%26');
    const signed = `${method}&${raw(url.origin + url.pathname)}&${joined}`;
    const own = createHmac('sha256', `${this.#secret}&`).update(signed).digest('base64');
    if (signature !== own) return 'Invalid signature - provided signature does not match.';
    const nonce = fields.get('oauth_nonce') ?? '';
    if (this.#used.has(nonce)) return 'Invalid nonce - nonce has already been used.';
    this.#used.add(nonce);
    return null;
  }
}
