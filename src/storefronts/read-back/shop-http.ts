import { Pool, type Dispatcher } from 'undici';
import type { Clock } from '../../core/clock.ts';
import { isJsonObject, parseExactJson } from '../../core/exact-json.ts';
import { plainHeaders, retryAfterMs } from '../../core/http-headers.ts';
import { messageText, withoutSecret } from '../../core/message-text.ts';
import type { ShopRest } from './settings.ts';
import { ShopApiError, type ShopApiErrorKind } from './shop-api-error.ts';

export interface ShopCall {
  readonly method: 'GET' | 'POST';
  /** Begins with a slash; the path of the shop goes before it. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

export interface ShopAnswer {
  readonly headers: Readonly<Record<string, string>>;
  /** The JSON of the answer, its numbers as text. */
  readonly value: unknown;
}

export interface ShopHttpOptions {
  readonly rest: ShopRest;
  readonly clock: Clock;
  readonly version: string;
  /** Texts that must not be in a message, whoever put them there. */
  readonly secrets: readonly string[];
}

/** How often one call is made when the shop asks for patience, and the longest that it is waited for in place. */
const patience = { tries: 5, longestMs: 60_000 };
/** After a 429 that does not say how long. Shopify forgets two calls a second. */
const unaskedWaitMs = 2000;

/**
 * Calls to one shop: one at a time, at its pace, with a hard end, a limit on what is read, no redirects, and
 * certificates that are verified. Throws ShopApiError, and nothing else.
 */
export class ShopHttp {
  readonly #rest: ShopRest;
  readonly #clock: Clock;
  readonly #userAgent: string;
  readonly #basePath: string;
  readonly #secrets: readonly string[];
  readonly #pool: Pool;
  #hidden = '';
  #notBeforeMs = 0;
  #aheadMs: number | null = null;

  constructor(options: ShopHttpOptions) {
    this.#rest = options.rest;
    this.#clock = options.clock;
    this.#userAgent = `order-sync/${options.version}`;
    this.#secrets = options.secrets;
    const { origin, pathname } = new URL(options.rest.url);
    this.#basePath = pathname.replace(/\/+$/, '');
    this.#pool = new Pool(origin, {
      connections: 1,
      pipelining: 1,
      allowH2: false,
      useMilo: false,
      headersTimeout: 0,
      bodyTimeout: 0,
      // Said here, verification also holds against NODE_TLS_REJECT_UNAUTHORIZED.
      connect: { timeout: options.rest.connectMs, rejectUnauthorized: true, allowH2: false },
    });
  }

  /** Makes a call, again if the shop asks for a pause that is short enough to be waited for. */
  async call(call: ShopCall): Promise<ShopAnswer> {
    for (let tries = 1; ; tries += 1) {
      await this.#keepPace(call.signal);
      try {
        return await this.#callOnce(call);
      } catch (error) {
        if (!(error instanceof ShopApiError) || !asksForPatience(error)) throw error;
        const waitMs = error.retryAfterMs ?? unaskedWaitMs * tries;
        if (tries >= patience.tries || waitMs > patience.longestMs) throw error;
        this.#notBeforeMs = Math.max(this.#notBeforeMs, this.#clock.monoMs() + waitMs);
      }
    }
  }

  /** How far our clock is ahead of the shop's, in ms, as its last answer told; null before it told. */
  get aheadMs(): number | null {
    return this.#aheadMs;
  }

  /** One more text that must not be in a message; it takes the place of the one before. */
  hide(secret: string): void {
    this.#hidden = secret;
  }

  /** Breaks off what is under way. */
  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async #keepPace(signal: AbortSignal): Promise<void> {
    const waitMs = this.#notBeforeMs - this.#clock.monoMs();
    if (waitMs > 0) await this.#clock.sleep(waitMs, signal);
    if (signal.aborted) throw new ShopApiError('stopped', 'the worker stops');
    this.#notBeforeMs = this.#clock.monoMs() + this.#rest.intervalMs;
  }

  async #callOnce(call: ShopCall): Promise<ShopAnswer> {
    const { method, signal, body } = call;
    const path = `${this.#basePath}${call.path}`;
    // The query of a call holds times and numbers only; what a key opens stands in headers.
    const name = `${method} ${path}`;
    const deadline = AbortSignal.timeout(this.#rest.totalMs);
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
      const theirs = Date.parse(headers['date'] ?? '');
      if (Number.isFinite(theirs)) this.#aheadMs = this.#clock.wallMs() - theirs;
      const bytes = await this.#readBody(name, answer);
      this.#heedCallLimit(headers);
      if (answer.statusCode !== 200) throw this.#failure(name, answer.statusCode, headers, bytes);
      const value = parseExactJson(this.#decode(name, bytes));
      if (value === undefined) {
        throw new ShopApiError('unreadable', `${name}: 200, and the answer is no complete JSON`);
      }
      return { headers, value };
    } catch (error) {
      if (error instanceof ShopApiError) throw error;
      if (signal.aborted) throw new ShopApiError('stopped', 'the worker stops');
      const reason = deadline.aborted ? `no complete answer within ${this.#rest.totalMs} ms` : reasonOf(error);
      throw new ShopApiError('unreachable', this.#clean(`${name}: ${reason}`), { cause: error });
    }
  }

  async #readBody(name: string, answer: Dispatcher.ResponseData): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of answer.body) {
      const part: Buffer = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk);
      bytes += part.byteLength;
      if (bytes > this.#rest.bodyBytes) {
        answer.body.destroy();
        const rule = `the answer is longer than ${this.#rest.bodyBytes} bytes: lower page_size, or raise body_bytes`;
        throw new ShopApiError('unreadable', `${name}: ${rule}`);
      }
      chunks.push(part);
    }
    return Buffer.concat(chunks);
  }

  #decode(name: string, bytes: Buffer): string {
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    } catch {
      throw new ShopApiError('unreadable', `${name}: 200, and the answer is not UTF-8`);
    }
  }

  /** Shopify tells how full its bucket is: `32/40`. Near the brim it is given time to leak. */
  #heedCallLimit(headers: ShopAnswer['headers']): void {
    const [, used, size] = /^(\d{1,6})\/(\d{1,6})$/.exec(headers['x-shopify-shop-api-call-limit'] ?? '') ?? [];
    if (Number(size) > 0 && Number(used) / Number(size) >= 0.8) {
      this.#notBeforeMs = Math.max(this.#notBeforeMs, this.#clock.monoMs() + unaskedWaitMs);
    }
  }

  #failure(name: string, status: number, headers: ShopAnswer['headers'], bytes: Buffer): ShopApiError {
    const asked = retryAfterMs(headers, this.#clock.wallMs());
    if (status >= 300 && status < 400) {
      const rule = `${status}, a redirect, which is not followed: set rest.url to the address that the shop really has`;
      return new ShopApiError('unreadable', `${name}: ${rule}`);
    }
    const said = messageText(errorText(bytes), 200);
    const message = this.#clean(`${name}: ${status}${said === '' ? '' : ` ${said}`}`);
    return new ShopApiError(kindOf(status), message, { retryAfterMs: asked });
  }

  #clean(text: string): string {
    return [...this.#secrets, this.#hidden].reduce(withoutSecret, text);
  }
}

function kindOf(status: number): ShopApiErrorKind {
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 429) return 'rate_limited';
  return status >= 500 ? 'unavailable' : 'refused';
}

/** A shop in maintenance says 503, and how long. */
function asksForPatience(error: ShopApiError): boolean {
  return error.kind === 'rate_limited' || (error.kind === 'unavailable' && error.retryAfterMs !== null);
}

/** What WooCommerce (`code`, `message`) and Shopify (`errors`) say; nothing of what a proxy says. */
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
