import { cacheHeader } from '../../core/cached-answers.ts';
import { decompress } from '../../core/decompress.ts';
import { type ExactJsonObject, isJsonObject, parseExactJsonBytes } from '../../core/exact-json.ts';
import { type PlainHeaders, plainHeaders, retryAfterMs } from '../../core/http-headers.ts';
import { messageText, withoutSecret } from '../../core/message-text.ts';
import { Breaker } from '../../ops/breaker.ts';
import { Deadline } from '../../ops/deadline.ts';
import {
  type IncomingAnswer,
  openConnections,
  type OutgoingConnections,
} from '../../ops/outgoing-http.ts';
import { CallLimit, mostCalls } from './call-limit.ts';
import { whatItIs, whyUnreachable } from './odd-answer.ts';
import type { ApiContext } from './platform.ts';
import type { RestSettings } from './shop-settings.ts';
import { ShopApiError } from './shop-api.ts';

export interface ShopCall {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Begins with a slash. It is appended to the path of the shop's address. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  /**
   * It is made after the other calls that wait for a turn, because a purchase may wait for those.
   */
  readonly isBehind?: boolean;
  /** The caller asks for less when the shop fails. */
  readonly isLarge?: boolean;
  /**
   * Made twice, it has two effects: repeated only where surely not processed, and not begun after
   * this time. `begins` is awaited right before each try; when it throws, nothing is sent.
   */
  readonly once?: { readonly latestStartMs: number; readonly begins?: () => Promise<void> };
}

export interface ShopAnswer {
  readonly headers: PlainHeaders;
  /** The JSON of the answer, with every number as text. */
  readonly value: unknown;
}

/**
 * The problem of an answer whose status is a success. `waitMs`: so long the shop asks to wait;
 * null: it does not.
 */
export type ShopProblem = Pick<ShopApiError, 'kind'> & {
  readonly text: string;
  readonly waitMs: number | null;
};

interface ShopHttpOptions extends ApiContext {
  readonly platform: string;
  readonly rest: RestSettings;
  /** Certificates in PEM that are trusted in the place of the known authorities; absent: those. */
  readonly ca?: string | undefined;
  /**
   * The header `authorization` of a call, made anew for each try; absent: the call has what it
   * needs.
   */
  readonly authorization?: (method: string, path: string) => string;
  /** A parameter that the shop ignores, for page caches that look at nothing but the address. */
  readonly freshKey?: string;
  /** Removed from every message, also where the shop repeats them. */
  readonly secrets: () => readonly string[];
  /**
   * The text of an error in the form of the platform; empty for any other body, such as the page of
   * a proxy.
   */
  readonly errorText: (body: ExactJsonObject) => string;
  /**
   * Whether an answer with an error says that the shop has no such order; absent: none says that
   * surely.
   */
  readonly saysAbsent?: (status: number, body: ExactJsonObject) => boolean;
  /** What to do about a redirect with these headers; null or absent: it leads to another address. */
  readonly redirectAdvice?: (headers: PlainHeaders) => string | null;
  /**
   * How long the shop wants no call after this answer with a success, in ms; absent: it does not
   * say.
   */
  readonly pauseAfterMs?: (headers: PlainHeaders, value: unknown) => number;
  /** The problem of an answer whose status is a success; null or absent: none. */
  readonly problemIn?: (value: unknown) => ShopProblem | null;
}

const plainJson = {
  accept: 'application/json',
  'accept-encoding': 'identity',
  'cache-control': 'no-cache',
};
/** The clocks of a shop's servers differ by less. */
const clocksDifferMs = 10_000;
/** How often a call is made when the shop asks the worker to wait. */
const maxTries = 5;
/** A longer wait ends the call, and every call until it is over. */
const maxWaitMs = 60_000;
/** The wait after the first 503: some shops announce ten minutes for an update of seconds. */
const maintenanceMs = 10_000;
/** The wait after the first 429 without `Retry-After`. */
const defaultWaitMs = 2000;
/** A call that cannot be repeated may end within this time after the worker was asked to stop. */
const stopGraceMs = 3000;

/**
 * Makes calls to one shop, a few at a time, and fewer when it is busy. Each has a total deadline
 * and a limit on the length of its answer, follows no redirect and verifies certificates. Throws
 * nothing but ShopApiError, and what `once.begins` throws.
 */
export class ShopHttp {
  /** The path of the shop's address, without a slash at the end. */
  readonly basePath: string;
  readonly #options: ShopHttpOptions;
  readonly #connections: OutgoingConnections;
  readonly #limit = new CallLimit();
  /**
   * Open while the shop wants no call: for as long as it asks, and the longer, the more 503 came in
   * a row.
   */
  readonly #breaker: Breaker;
  #wanted = '';
  /** The time that the last answer told, and when its call began. */
  #told = { shopMs: Number.NaN, wallMs: 0, mono: 0 };
  #clockAheadMs: number | null = null;

  constructor(options: ShopHttpOptions) {
    this.#options = options;
    this.#breaker = new Breaker({
      ...options,
      opensAfter: 1,
      firstMs: maintenanceMs,
      mostMs: maxWaitMs,
    });
    const { origin, pathname } = new URL(options.rest.url);
    this.basePath = pathname.replace(/\/+$/, '');
    const { connect = openConnections, rest, ca } = options;
    this.#connections = connect(origin, {
      connectMs: rest.timeouts.connectMs,
      kept: mostCalls,
      ca,
    });
  }

  /**
   * Makes a call, and repeats it after each wait that the shop asks for and that is short enough.
   */
  async call(call: ShopCall): Promise<ShopAnswer> {
    return await this.#limit.add(() => this.#callInTurn(call), call.isBehind === true ? 0 : 1);
  }

  async #callInTurn(call: ShopCall): Promise<ShopAnswer> {
    for (let tries = 1; ; tries += 1) {
      await this.#mayBegin(call);
      try {
        return await this.#timed(call);
      } catch (error) {
        if (!(error instanceof ShopApiError) || !isWorthWaiting(error)) throw error;
        const waitMs = error.retryAfterMs ?? defaultWaitMs * tries;
        // Also where this call is not repeated: the next one is that of another order.
        this.#closeFor(waitMs, error.message);
        // A proxy may answer 503 for a call that the shop still processes.
        const isSafe =
          (call.once === undefined && call.isLarge !== true) || error.kind === 'rate_limited';
        if (tries >= maxTries || waitMs > maxWaitMs || !isSafe) throw error;
      }
    }
  }

  get clockAheadMs(): number | null {
    return this.#clockAheadMs;
  }

  async close(): Promise<void> {
    await this.#connections.destroy();
  }

  #closeFor(waitMs: number, wanted: string): void {
    if (this.#breaker.waitFor(waitMs)) this.#wanted = wanted;
  }

  /**
   * Waits until the shop wants calls. While a call is about to begin, the answer of another may ask
   * to wait.
   */
  async #mayBegin({ signal, once }: ShopCall): Promise<void> {
    const { clock } = this.#options;
    for (let isRecorded = once?.begins === undefined; ; ) {
      const closedMs = this.#breaker.waitMs;
      if (closedMs > maxWaitMs) {
        const why = `the shop asked the worker to make no call for another ${Math.ceil(closedMs / 1000)} s (${this.#wanted})`;
        throw new ShopApiError('rate_limited', why, { retryAfterMs: closedMs });
      }
      if (signal.aborted) throw new ShopApiError('stopped', 'the worker stops');
      if (closedMs > 0) {
        await clock.sleep(closedMs, signal);
        continue;
      }
      if (once !== undefined && clock.steadyMs() > once.latestStartMs) {
        throw new ShopApiError(
          'rate_limited',
          'the shop was too busy, so the call could not be made in time: nothing was sent',
        );
      }
      if (isRecorded) return;
      await once?.begins?.();
      isRecorded = true;
    }
  }

  async #timed(call: ShopCall): Promise<ShopAnswer> {
    const { clock } = this.#options;
    const beganMs = clock.steadyMs();
    const ended = new AbortController();
    try {
      const signal =
        call.once === undefined ? call.signal : this.#afterGrace(call.signal, ended.signal);
      const answer = await this.#callOnce({ ...call, signal });
      this.#limit.answered({ isBusy: false, tookMs: clock.steadyMs() - beganMs });
      return answer;
    } catch (error) {
      const isBusy = !(error instanceof ShopApiError) || busyKinds.includes(error.kind);
      this.#limit.answered({ isBusy, tookMs: clock.steadyMs() - beganMs });
      throw error;
    } finally {
      ended.abort();
    }
  }

  #afterGrace(signal: AbortSignal, ended: AbortSignal): AbortSignal {
    const over = new AbortController();
    const stop = (): void =>
      void this.#options.clock.sleep(stopGraceMs, ended).then(() => over.abort());
    signal.addEventListener('abort', stop, { signal: ended });
    return over.signal;
  }

  async #callOnce(call: ShopCall): Promise<ShopAnswer> {
    const { method, signal, body = null } = call;
    const path = `${this.basePath}${call.path}`;
    // Safe to log: a query has only times and numbers, and keys are sent in headers.
    const name = `${method} ${path}`;
    const { clock, rest, version, authorization, pauseAfterMs, problemIn, freshKey, platform } =
      this.#options;
    const { totalMs } = rest.timeouts;
    const deadline = new Deadline(clock, totalMs, signal);
    // Its `Date` was not made before the call: a slow answer does not make this machine's clock
    // look ahead.
    const beganMs = clock.wallMs();
    const begun = { wallMs: beganMs, mono: clock.steadyMs() };
    const isRead = method === 'GET';
    const isFresh = !isRead || freshKey === undefined;
    const address = isFresh
      ? path
      : `${path}${path.includes('?') ? '&' : '?'}${freshKey}=${beganMs}`;
    try {
      const key =
        authorization === undefined ? {} : { authorization: authorization(method, address) };
      const sent = { ...plainJson, 'user-agent': `order-sync/${version}`, ...key, ...call.headers };
      const request = { method, path: address, headers: sent, body, signal: deadline.signal };
      const answer = await this.#connections.request(request);
      const headers = plainHeaders(answer.headers);
      const status = answer.statusCode;
      const whyCached = this.#whyCached(headers, begun);
      const shopMs = whyCached === null ? Date.parse(headers['date'] ?? '') : Number.NaN;
      if (Number.isFinite(shopMs)) this.#clockAheadMs = beganMs - shopMs;
      const bytes = await this.#readBody(name, answer, headers['content-encoding']);
      if (isRead && whyCached !== null && (status < 300 || status === 404)) {
        const problem = `${name}: a cache answered (${whyCached}): exclude the paths of the API, such as /wp-json/, from the cache`;
        throw new ShopApiError('cached', problem);
      }
      if (![200, 201].includes(status)) throw this.#failure(name, status, headers, bytes);
      this.#breaker.works(false);
      const value = parseExactJsonBytes(bytes);
      const notJson = `${name}: ${status}, but not ${platform}'s answer: ${whatItIs(bytes)}`;
      if (value === undefined) throw new ShopApiError('unreadable', this.#withoutSecrets(notJson));
      this.#closeFor(pauseAfterMs?.(headers, value) ?? 0, name);
      const problem = problemIn?.(value) ?? null;
      if (problem === null) return { headers, value };
      const text = this.#withoutSecrets(`${name}: ${messageText(problem.text, 200)}`);
      throw new ShopApiError(problem.kind, text, { retryAfterMs: problem.waitMs });
    } catch (error) {
      if (error instanceof ShopApiError) throw error;
      if (signal.aborted) throw new ShopApiError('stopped', 'the worker stops');
      const reason = deadline.isOver
        ? `no complete answer within ${totalMs} ms`
        : whyUnreachable(error);
      throw new ShopApiError('unreachable', this.#withoutSecrets(`${name}: ${reason}`), {
        cause: error,
      });
    } finally {
      deadline.end();
    }
  }

  #whyCached(headers: PlainHeaders, begun: { wallMs: number; mono: number }): string | null {
    const { shopMs, wallMs, mono } = this.#told;
    // One of this machine's clocks may have jumped, not both.
    const passedMs = Math.min(begun.wallMs - wallMs, begun.mono - mono);
    this.#told = { shopMs: Date.parse(headers['date'] ?? ''), ...begun };
    const isOld = this.#told.shopMs + clocksDifferMs < shopMs + passedMs;
    return cacheHeader(headers) ?? (isOld ? `date: ${headers['date']}, before the call` : null);
  }

  async #readBody(
    name: string,
    answer: IncomingAnswer,
    encoding: string | undefined,
  ): Promise<Uint8Array> {
    const { bodyBytes } = this.#options.rest;
    const parts: Buffer[] = [];
    let bytes = 0;
    for await (const part of answer.body) {
      bytes += part.byteLength;
      // Leaving the loop destroys the body.
      if (bytes > bodyBytes) {
        throw new ShopApiError(
          'unreadable',
          `${name}: the answer is longer than ${bodyBytes} bytes`,
        );
      }
      parts.push(part);
    }
    const read = decompress(Buffer.concat(parts), encoding, bodyBytes);
    if ('problem' in read) throw new ShopApiError('unreadable', `${name}: ${read.problem}`);
    return read.body;
  }

  #failure(name: string, status: number, headers: PlainHeaders, bytes: Uint8Array): ShopApiError {
    const { clock, errorText, saysAbsent, platform } = this.#options;
    if (status >= 300 && status < 400) {
      const next =
        this.#options.redirectAdvice?.(headers) ?? 'set rest.url to the real address of the shop';
      const problem = `${status}, a redirect, which is not followed: ${next}`;
      return new ShopApiError('unreadable', `${name}: ${problem}`);
    }
    const parsed = parseExactJsonBytes(bytes.subarray(0, 65_536));
    const body = isJsonObject(parsed) ? parsed : {};
    const said = messageText(errorText(body), 200);
    const kind = saysAbsent?.(status, body) === true ? 'absent' : kindOf(status, said !== '');
    const what = said === '' ? `, not ${platform}'s answer: ${whatItIs(bytes)}` : ` ${said}`;
    const message = this.#withoutSecrets(`${name}: ${status}${what}`);
    const askedMs = retryAfterMs(headers, clock.wallMs());
    return new ShopApiError(kind, message, {
      retryAfterMs: status === 503 ? this.#maintenance(askedMs) : askedMs,
    });
  }

  /** How long to wait after a 503, in ms: the longer, the more of them came in a row. */
  #maintenance(askedMs: number | null): number {
    // Calls that were under way together count as one.
    if (this.#breaker.state !== 'open') {
      this.#breaker.fails({ mostMs: Math.min(askedMs ?? maxWaitMs, maxWaitMs) });
      this.#wanted = 'maintenance';
    }
    return this.#breaker.waitMs;
  }

  #withoutSecrets(text: string): string {
    return this.#options.secrets().reduce(withoutSecret, text);
  }
}

/** @param isOfPlatform the body is its error: the page of a firewall says nothing about keys */
function kindOf(status: number, isOfPlatform: boolean): ShopApiError['kind'] {
  if (status === 429) return 'rate_limited';
  if (status >= 500) return 'unavailable';
  const saysNothing = status < 400 || ((status === 401 || status === 403) && !isOfPlatform);
  if (saysNothing) return 'unreadable';
  return status === 401 || status === 403 ? 'unauthorized' : 'refused';
}

const busyKinds: readonly ShopApiError['kind'][] = ['rate_limited', 'unavailable', 'unreachable'];

function isWorthWaiting(error: ShopApiError): boolean {
  return (
    error.kind === 'rate_limited' || (error.kind === 'unavailable' && error.retryAfterMs !== null)
  );
}
