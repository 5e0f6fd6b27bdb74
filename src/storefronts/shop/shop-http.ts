import { type ExactJsonObject, isJsonObject, parseExactJson, parseExactJsonBytes } from '../../core/exact-json.ts';
import { type PlainHeaders, plainHeaders, retryAfterMs } from '../../core/http-headers.ts';
import { messageText, withoutSecret } from '../../core/message-text.ts';
import { Deadline } from '../../ops/deadline.ts';
import { type IncomingAnswer, openConnections, type OutgoingConnections } from '../../ops/outgoing-http.ts';
import { CallLimit, mostCalls } from './call-limit.ts';
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
  /** It is made after the other calls that wait for a turn, because a purchase may wait for those. */
  readonly isBehind?: boolean;
  /**
   * Made twice, it has two effects: repeated only where surely not processed, and not begun after this time. `begins` is awaited
   * right before each try; when it throws, nothing is sent.
   */
  readonly once?: { readonly latestStartMono: number; readonly begins?: () => Promise<void> };
}

export interface ShopAnswer {
  readonly headers: PlainHeaders;
  /** The JSON of the answer, with every number as text. */
  readonly value: unknown;
}

/** The problem of an answer whose status is a success. `waitMs`: so long the shop asks to wait; null: it does not. */
export type ShopProblem = Pick<ShopApiError, 'kind'> & { readonly text: string; readonly waitMs: number | null };

interface ShopHttpOptions extends ApiContext {
  readonly rest: RestSettings;
  /** Certificates in PEM that are trusted in the place of the known authorities; absent: those. */
  readonly ca?: string | undefined;
  /** The header `authorization` of a call, made anew for each try; absent: the call has what it needs. */
  readonly authorization?: (method: string, path: string) => string;
  /** Removed from every message, also where the shop repeats them. */
  readonly secrets: () => readonly string[];
  /** The text of an error in the form of the platform; empty for any other body, such as the page of a proxy. */
  readonly errorText: (body: ExactJsonObject) => string;
  /** Whether an answer with an error says that the shop has no such order; absent: none says that surely. */
  readonly saysAbsent?: (status: number, body: ExactJsonObject) => boolean;
  /** How long the shop wants no call after this answer with a success, in ms; absent: it does not say. */
  readonly pauseAfterMs?: (headers: PlainHeaders, value: unknown) => number;
  /** The problem of an answer whose status is a success; null or absent: none. */
  readonly problemIn?: (value: unknown) => ShopProblem | null;
}

const plainJson = { accept: 'application/json', 'accept-encoding': 'identity' };
/** How often a call is made when the shop asks the worker to wait. */
const maxTries = 5;
/** A longer wait ends the call, and every call until it is over. */
const maxWaitMs = 60_000;
/** The wait after the first 429 without `Retry-After`. */
const defaultWaitMs = 2000;
/** A call that cannot be repeated may end within this time after the worker was asked to stop. */
const stopGraceMs = 3000;

/**
 * Makes calls to one shop, a few at a time, and fewer when it is busy. Each has a total deadline and a limit on the length
 * of its answer, follows no redirect and verifies certificates. Throws nothing but ShopApiError, and what `once.begins` throws.
 */
export class ShopHttp {
  /** The path of the shop's address, without a slash at the end. */
  readonly basePath: string;
  readonly #options: ShopHttpOptions;
  readonly #connections: OutgoingConnections;
  readonly #limit = new CallLimit();
  /** No call is made before this time: the shop answered what it wanted. */
  #closed = { untilMono: 0, wanted: '' };
  #clockAheadMs: number | null = null;

  constructor(options: ShopHttpOptions) {
    this.#options = options;
    const { origin, pathname } = new URL(options.rest.url);
    this.basePath = pathname.replace(/\/+$/, '');
    const { connect = openConnections, rest, ca } = options;
    this.#connections = connect(origin, { connectMs: rest.timeouts.connectMs, kept: mostCalls, ca });
  }

  /** Makes a call, and repeats it after each wait that the shop asks for and that is short enough. */
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
        const isSafe = call.once === undefined || error.kind === 'rate_limited';
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
    const untilMono = this.#options.clock.monoMs() + waitMs;
    if (untilMono > this.#closed.untilMono) this.#closed = { untilMono, wanted };
  }

  /** Waits until the shop wants calls. While a call is about to begin, the answer of another may ask to wait. */
  async #mayBegin({ signal, once }: ShopCall): Promise<void> {
    const { clock } = this.#options;
    for (let isRecorded = once?.begins === undefined; ; ) {
      const closedMs = this.#closed.untilMono - clock.monoMs();
      if (closedMs > maxWaitMs) {
        const why = `the shop asked for no call for another ${Math.ceil(closedMs / 1000)} s (${this.#closed.wanted})`;
        throw new ShopApiError('rate_limited', why, { retryAfterMs: closedMs });
      }
      if (signal.aborted) throw new ShopApiError('stopped', 'the worker stops');
      if (closedMs > 0) {
        await clock.sleep(closedMs, signal);
        continue;
      }
      if (once !== undefined && clock.monoMs() > once.latestStartMono) {
        throw new ShopApiError('rate_limited', 'the shop was too busy to make the call in time: nothing was sent');
      }
      if (isRecorded) return;
      await once?.begins?.();
      isRecorded = true;
    }
  }

  async #timed(call: ShopCall): Promise<ShopAnswer> {
    const { clock } = this.#options;
    const beganMono = clock.monoMs();
    const ended = new AbortController();
    try {
      const signal = call.once === undefined ? call.signal : this.#afterGrace(call.signal, ended.signal);
      const answer = await this.#callOnce({ ...call, signal });
      this.#limit.answered({ isBusy: false, tookMs: clock.monoMs() - beganMono });
      return answer;
    } catch (error) {
      const isBusy = !(error instanceof ShopApiError) || busyKinds.includes(error.kind);
      this.#limit.answered({ isBusy, tookMs: clock.monoMs() - beganMono });
      throw error;
    } finally {
      ended.abort();
    }
  }

  #afterGrace(signal: AbortSignal, ended: AbortSignal): AbortSignal {
    const over = new AbortController();
    const stop = (): void => void this.#options.clock.sleep(stopGraceMs, ended).then(() => over.abort());
    signal.addEventListener('abort', stop, { signal: ended });
    return over.signal;
  }

  async #callOnce(call: ShopCall): Promise<ShopAnswer> {
    const { method, signal, body = null } = call;
    const path = `${this.basePath}${call.path}`;
    // Safe to log: a query has only times and numbers, and keys are sent in headers.
    const name = `${method} ${path}`;
    const { clock, rest, version, authorization, pauseAfterMs, problemIn } = this.#options;
    const { totalMs } = rest.timeouts;
    const deadline = new Deadline(clock, totalMs, signal);
    // Its `Date` was not made before the call: a slow answer does not make this machine's clock look ahead.
    const beganMs = clock.wallMs();
    try {
      const key = authorization === undefined ? {} : { authorization: authorization(method, path) };
      const sent = { ...plainJson, 'user-agent': `order-sync/${version}`, ...key, ...call.headers };
      const request = { method, path, headers: sent, body, signal: deadline.signal };
      const answer = await this.#connections.request(request);
      const headers = plainHeaders(answer.headers);
      const shopMs = Date.parse(headers['date'] ?? '');
      if (Number.isFinite(shopMs)) this.#clockAheadMs = beganMs - shopMs;
      const bytes = await this.#readBody(name, answer);
      if (![200, 201].includes(answer.statusCode)) throw this.#failure(name, answer.statusCode, headers, bytes);
      const value = parseExactJsonBytes(bytes);
      const notJson = `${name}: ${answer.statusCode}, but the answer is no complete JSON in UTF-8`;
      if (value === undefined) throw new ShopApiError('unreadable', notJson);
      this.#closeFor(pauseAfterMs?.(headers, value) ?? 0, name);
      const problem = problemIn?.(value) ?? null;
      if (problem === null) return { headers, value };
      const text = this.#withoutSecrets(`${name}: ${messageText(problem.text, 200)}`);
      throw new ShopApiError(problem.kind, text, { retryAfterMs: problem.waitMs });
    } catch (error) {
      if (error instanceof ShopApiError) throw error;
      if (signal.aborted) throw new ShopApiError('stopped', 'the worker stops');
      const reason = deadline.isOver ? `no complete answer within ${totalMs} ms` : reasonOf(error);
      throw new ShopApiError('unreachable', this.#withoutSecrets(`${name}: ${reason}`), { cause: error });
    } finally {
      deadline.end();
    }
  }

  async #readBody(name: string, answer: IncomingAnswer): Promise<Buffer> {
    const { bodyBytes } = this.#options.rest;
    const parts: Buffer[] = [];
    let bytes = 0;
    for await (const part of answer.body) {
      bytes += part.byteLength;
      // Leaving the loop destroys the body.
      if (bytes > bodyBytes) {
        throw new ShopApiError('unreadable', `${name}: the answer is longer than ${bodyBytes} bytes`);
      }
      parts.push(part);
    }
    return Buffer.concat(parts);
  }

  #failure(name: string, status: number, headers: PlainHeaders, bytes: Buffer): ShopApiError {
    const { clock, errorText, saysAbsent } = this.#options;
    if (status >= 300 && status < 400) {
      // WordPress without permalinks sends every path of its REST API to the same path with a slash.
      const isPlain = headers['x-redirect-by'] === 'WordPress' && headers['location']?.includes('/wp-json/') === true;
      const next = isPlain
        ? 'choose permalinks other than "Plain" in WordPress'
        : 'set rest.url to the real address of the shop';
      const problem = `${status}, a redirect, which is not followed: ${next}`;
      return new ShopApiError('unreadable', `${name}: ${problem}`);
    }
    const parsed = parseExactJson(bytes.toString('utf8', 0, 65_536));
    const body = isJsonObject(parsed) ? parsed : {};
    const kind = saysAbsent?.(status, body) === true ? 'absent' : kindOf(status);
    const message = this.#withoutSecrets(`${name}: ${status} ${messageText(errorText(body), 200)}`.trimEnd());
    return new ShopApiError(kind, message, { retryAfterMs: retryAfterMs(headers, clock.wallMs()) });
  }

  #withoutSecrets(text: string): string {
    return this.#options.secrets().reduce(withoutSecret, text);
  }
}

function kindOf(status: number): ShopApiError['kind'] {
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 429) return 'rate_limited';
  return status >= 500 ? 'unavailable' : 'refused';
}

const busyKinds: readonly ShopApiError['kind'][] = ['rate_limited', 'unavailable', 'unreachable'];

/** A 503 with `Retry-After` is a shop in maintenance. */
function isWorthWaiting(error: ShopApiError): boolean {
  return error.kind === 'rate_limited' || (error.kind === 'unavailable' && error.retryAfterMs !== null);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no answer';
  const code = 'code' in error ? `${String(error.code)}: ` : '';
  return messageText(`${code}${error.message}`, 200);
}
