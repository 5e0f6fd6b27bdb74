import { Pool, type Dispatcher } from 'undici';
import { isJsonObject, parseExactJson, parseExactJsonBytes } from '../../core/exact-json.ts';
import { plainHeaders, retryAfterMs } from '../../core/http-headers.ts';
import { messageText, withoutSecret } from '../../core/message-text.ts';
import type { ApiContext } from '../platform.ts';
import type { RestSettings } from '../shop-settings.ts';
import { ShopApiError } from './shop-api.ts';

export interface ShopCall {
  readonly method: 'GET' | 'POST';
  /** Begins with a slash. It is appended to the path of the shop's address. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

export interface ShopAnswer {
  readonly headers: Readonly<Record<string, string>>;
  /** The JSON of the answer, with every number as text. */
  readonly value: unknown;
}

export interface ShopHttpOptions extends ApiContext {
  readonly rest: RestSettings;
  /** Removed from every message, also where the shop repeats them. */
  readonly secrets: readonly string[];
}

/** How often a call is made when the shop asks the worker to wait. */
const maxTries = 5;
/** A longer wait ends the run. */
const maxWaitMs = 60_000;
/** The wait after a 429 without `Retry-After`. Shopify frees two calls a second. */
const defaultWaitMs = 2000;
/** From this share of used calls on, the worker waits for Shopify to free some. */
const fullBucket = 0.8;

/**
 * Makes calls to one shop, one at a time and at the configured pace. Each has a total deadline and a limit on the length
 * of its answer, follows no redirect and verifies certificates. Throws nothing but ShopApiError.
 */
export class ShopHttp {
  /** The path of the shop's address, without a slash at the end. */
  readonly basePath: string;
  readonly #rest: RestSettings;
  readonly #clock: ApiContext['clock'];
  readonly #userAgent: string;
  readonly #secrets: readonly string[];
  readonly #pool: Pool;
  #grantedSecret = '';
  #notBeforeMs = 0;
  #clockAheadMs: number | null = null;

  constructor(options: ShopHttpOptions) {
    this.#rest = options.rest;
    this.#clock = options.clock;
    this.#userAgent = `order-sync/${options.version}`;
    this.#secrets = options.secrets;
    const { origin, pathname } = new URL(options.rest.url);
    this.basePath = pathname.replace(/\/+$/, '');
    this.#pool = new Pool(origin, {
      connections: 1,
      pipelining: 1,
      allowH2: false,
      useMilo: false,
      headersTimeout: 0,
      bodyTimeout: 0,
      // Set explicitly, because NODE_TLS_REJECT_UNAUTHORIZED could switch verification off.
      connect: { timeout: options.rest.timeouts.connectMs, rejectUnauthorized: true, allowH2: false },
    });
  }

  /** Makes a call, and repeats it after each wait that the shop asks for and that is short enough. */
  async call(call: ShopCall): Promise<ShopAnswer> {
    for (let tries = 1; ; tries += 1) {
      await this.#keepPace(call.signal);
      try {
        return await this.#callOnce(call);
      } catch (error) {
        if (!(error instanceof ShopApiError) || !isWorthWaiting(error)) throw error;
        const waitMs = error.retryAfterMs ?? defaultWaitMs * tries;
        if (tries >= maxTries || waitMs > maxWaitMs) throw error;
        this.#waitAtLeast(waitMs);
      }
    }
  }

  /** See `ShopApi`. */
  get clockAheadMs(): number | null {
    return this.#clockAheadMs;
  }

  /** Removes one more secret from messages, instead of the last one that was given here. */
  hideInMessages(secret: string): void {
    this.#grantedSecret = secret;
  }

  /** Aborts the call that is under way. */
  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  #waitAtLeast(waitMs: number): void {
    this.#notBeforeMs = Math.max(this.#notBeforeMs, this.#clock.monoMs() + waitMs);
  }

  async #keepPace(signal: AbortSignal): Promise<void> {
    const waitMs = this.#notBeforeMs - this.#clock.monoMs();
    if (waitMs > 0) await this.#clock.sleep(waitMs, signal);
    if (signal.aborted) throw new ShopApiError('stopped', 'the worker stops');
    this.#notBeforeMs = this.#clock.monoMs() + this.#rest.requestIntervalMs;
  }

  async #callOnce(call: ShopCall): Promise<ShopAnswer> {
    const { method, signal, body } = call;
    const path = `${this.basePath}${call.path}`;
    // Safe to log: a query has only times and numbers, and keys are sent in headers.
    const name = `${method} ${path}`;
    const deadline = AbortSignal.timeout(this.#rest.timeouts.totalMs);
    try {
      const answer = await this.#pool.request({
        method,
        path,
        headers: {
          accept: 'application/json',
          'accept-encoding': 'identity',
          'user-agent': this.#userAgent,
          ...call.headers,
        },
        body: body ?? null,
        signal: AbortSignal.any([signal, deadline]),
      });
      const headers = plainHeaders(answer.headers);
      const shopMs = Date.parse(headers['date'] ?? '');
      if (Number.isFinite(shopMs)) this.#clockAheadMs = this.#clock.wallMs() - shopMs;
      const bytes = await this.#readBody(name, answer);
      this.#respectCallLimit(headers);
      if (answer.statusCode !== 200) throw this.#failure(name, answer.statusCode, headers, bytes);
      const value = parseExactJsonBytes(bytes);
      if (value === undefined) {
        throw new ShopApiError('unreadable', `${name}: 200, but the answer is no complete JSON in UTF-8`);
      }
      return { headers, value };
    } catch (error) {
      if (error instanceof ShopApiError) throw error;
      if (signal.aborted) throw new ShopApiError('stopped', 'the worker stops');
      const reason = deadline.aborted ? `no complete answer within ${this.#rest.timeouts.totalMs} ms` : reasonOf(error);
      throw new ShopApiError('unreachable', this.#withoutSecrets(`${name}: ${reason}`), { cause: error });
    }
  }

  async #readBody(name: string, answer: Dispatcher.ResponseData): Promise<Buffer> {
    const parts: Buffer[] = [];
    let bytes = 0;
    for await (const data of answer.body) {
      const part: Buffer = Buffer.isBuffer(data) ? data : Buffer.from(data);
      bytes += part.byteLength;
      if (bytes > this.#rest.bodyBytes) {
        answer.body.destroy();
        const problem = `the answer is longer than ${this.#rest.bodyBytes} bytes: lower page_size, or raise body_bytes`;
        throw new ShopApiError('unreadable', `${name}: ${problem}`);
      }
      parts.push(part);
    }
    return Buffer.concat(parts);
  }

  /** Shopify says how many calls of its bucket are used, for example `32/40`. */
  #respectCallLimit(headers: ShopAnswer['headers']): void {
    const [, used, size] = /^(\d{1,6})\/(\d{1,6})$/.exec(headers['x-shopify-shop-api-call-limit'] ?? '') ?? [];
    if (Number(size) > 0 && Number(used) / Number(size) >= fullBucket) this.#waitAtLeast(defaultWaitMs);
  }

  #failure(name: string, status: number, headers: ShopAnswer['headers'], bytes: Buffer): ShopApiError {
    const askedMs = retryAfterMs(headers, this.#clock.wallMs());
    if (status >= 300 && status < 400) {
      const problem = `${status}, a redirect, which is not followed: set rest.url to the real address of the shop`;
      return new ShopApiError('unreadable', `${name}: ${problem}`);
    }
    const text = messageText(errorText(bytes), 200);
    const message = this.#withoutSecrets(`${name}: ${status}${text === '' ? '' : ` ${text}`}`);
    return new ShopApiError(kindOf(status), message, { retryAfterMs: askedMs });
  }

  #withoutSecrets(text: string): string {
    return [...this.#secrets, this.#grantedSecret].reduce(withoutSecret, text);
  }
}

function kindOf(status: number): ShopApiError['kind'] {
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 429) return 'rate_limited';
  return status >= 500 ? 'unavailable' : 'refused';
}

/** A 503 with `Retry-After` is a shop in maintenance. */
function isWorthWaiting(error: ShopApiError): boolean {
  return error.kind === 'rate_limited' || (error.kind === 'unavailable' && error.retryAfterMs !== null);
}

/** The error in the form of WooCommerce (`code`, `message`) or Shopify (`errors`). A proxy's page is not repeated. */
function errorText(bytes: Buffer): string {
  const value = parseExactJson(bytes.toString('utf8', 0, 65_536));
  if (!isJsonObject(value)) return '';
  const { code, message, errors } = value;
  if (typeof code === 'string' && typeof message === 'string') return `${code}: ${message}`;
  if (errors === undefined) return '';
  return typeof errors === 'string' ? errors : JSON.stringify(errors);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no answer';
  const code = 'code' in error ? `${String(error.code)}: ` : '';
  return messageText(`${code}${error.message}`, 200);
}
