import type { Buffer } from 'node:buffer';
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { Clock } from '../../core/clock.ts';
import { type KnownToken, knownTokens, RateLimit } from '../../ops/callers.ts';
import {
  type Caller,
  callerBySignature,
  callerByToken,
  hasSignature,
  type HeaderReader,
  narrower,
  requireScope,
  unauthorized,
} from './authenticate.ts';
import type { CallerLimits } from './caller-limits.ts';
import { Refusal } from './problem.ts';
import type { TokenCaller, TokenScope, WebhookSettings } from './settings.ts';

export interface Web {
  Bindings: HttpBindings;
}

/** So many bytes of a body count as one request. */
const bytesPerRequest = 65_536;

/** Decides who may send a request, and how often, before its body is parsed. */
export class Admission {
  readonly #config: WebhookSettings;
  readonly #clock: Clock;
  readonly #limits: CallerLimits;
  readonly #rates: RateLimit;
  readonly #tokens: readonly KnownToken<TokenCaller>[];

  constructor(config: WebhookSettings, clock: Clock, limits: CallerLimits) {
    this.#config = config;
    this.#limits = limits;
    this.#clock = clock;
    this.#rates = new RateLimit(clock, config.limits.requestsPerMinute, config.limits.burst);
    this.#tokens = knownTokens(config.tokens);
  }

  /**
   * The caller by its token. Reading and cancelling need one: a signature covers only the body, so a signed request
   * without a body could be redirected to any order.
   */
  withToken(context: Context<Web>, scope: TokenScope): Caller {
    const caller = this.#callerByToken(context);
    if (caller === null) throw unauthorized('Send "Authorization: Bearer <token>".');
    this.#limits.proven(context.env.incoming);
    this.count(caller);
    requireScope(caller, scope);
    return caller;
  }

  #callerByToken(context: Context<Web>): Caller | null {
    const { remoteAddress } = context.env.incoming.socket;
    const { failedTokens } = this.#limits;
    return callerByToken(headerReader(context), this.#tokens, (name) => failedTokens.judge(remoteAddress, name));
  }

  /**
   * The caller by its token, its signature or both, and what `read` makes of the body. The body is only read when there is
   * one of them.
   */
  async withBody<T>(
    context: Context<Web>,
    read: (body: Buffer, caller: Caller) => T,
  ): Promise<{ caller: Caller; content: T }> {
    const { incoming } = context.env;
    const header = headerReader(context);
    const token = this.#callerByToken(context);
    const isSigned = hasSignature(header, this.#config);
    if (token === null && !isSigned) {
      throw unauthorized('Send "Authorization: Bearer <token>", or sign the request.');
    }
    if (token !== null) {
      this.#limits.proven(incoming);
      this.count(token);
      requireScope(token, 'post');
    }
    requirePlainJson(header);
    const from = { isVerified: token !== null, maxBytes: this.#config.limits.bodyBytes };
    return await this.#limits.useBody(incoming, from, (body) => {
      const caller = token !== null && !isSigned ? token : this.#signer(context, body, token);
      // To read it takes as long as to answer many small requests.
      this.count(caller, Math.floor(body.length / bytesPerRequest));
      return { caller, content: read(body, caller) };
    });
  }

  #signer(context: Context<Web>, body: Buffer, token: Caller | null): Caller {
    const signer = callerBySignature(headerReader(context), body, this.#config, this.#clock.wallMs());
    if (token !== null) return narrower(token, signer);
    this.#limits.proven(context.env.incoming);
    this.count(signer);
    return signer;
  }

  /** Counts requests of a caller. Throws Refusal when it sends too many. */
  count(caller: Caller, requests = 1): void {
    if (requests === 0) return;
    const waitMs = this.#rates.take(caller.name, requests);
    if (waitMs === 0) return;
    const seconds = Math.ceil(waitMs / 1000);
    const detail = `${this.#config.limits.requestsPerMinute} requests a minute are allowed; try again in ${seconds} s.`;
    throw new Refusal('rate_limited', detail, { headers: { 'retry-after': String(seconds) } });
  }
}

/** Reads headers as Node parsed them. One that was sent twice is joined by a comma, and then matches no secret. */
function headerReader(context: Context<Web>): HeaderReader {
  const { headers } = context.env.incoming;
  return (name) => {
    const value = headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  };
}

function requirePlainJson(header: HeaderReader): void {
  const type = header('content-type') ?? '';
  if (!/^application\/(?:[a-z0-9.-]+\+)?json\s*(?:;|$)/i.test(type)) {
    throw new Refusal('unsupported_media_type', 'Send "Content-Type: application/json".');
  }
  const encoding = header('content-encoding') ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    throw new Refusal('unsupported_media_type', `The content encoding "${encoding.slice(0, 32)}" is not supported.`);
  }
}
