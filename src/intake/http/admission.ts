import type { Buffer } from 'node:buffer';
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { Clock } from '../../core/clock.ts';
import {
  type Caller,
  callerBySignature,
  callerByToken,
  hasSignature,
  type HeaderReader,
  narrower,
  type Token,
  unauthorized,
} from './authenticate.ts';
import { Refusal } from './problem.ts';
import { RateLimit } from './rate-limit.ts';
import { readRawBody } from './raw-body.ts';
import type { WebhookSettings } from './settings.ts';
import { secretDigest } from './signatures.ts';

export interface Web {
  Bindings: HttpBindings;
}

/** Decides who may send a request, and how often, before its body is parsed. */
export class Admission {
  readonly #config: WebhookSettings;
  readonly #clock: Clock;
  readonly #rates: RateLimit;
  readonly #tokens: readonly Token[];

  constructor(config: WebhookSettings, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
    this.#rates = new RateLimit(clock, config.limits.requestsPerMinute, config.limits.burst);
    this.#tokens = config.tokens.map((caller) => ({ caller, digest: secretDigest(caller.secret) }));
  }

  /**
   * The caller by its token. Reading and cancelling need one: a signature covers only the body, so a signed request
   * without a body could be redirected to any order.
   */
  withToken(context: Context<Web>): Caller {
    const caller = callerByToken(headerReader(context), this.#tokens);
    if (caller === null) throw unauthorized('Send "Authorization: Bearer <token>".');
    this.#count(caller);
    return caller;
  }

  /** The caller by its token, its signature or both, and the body. The body is only read when there is one of them. */
  async withBody(context: Context<Web>): Promise<{ caller: Caller; body: Buffer }> {
    const header = headerReader(context);
    const token = callerByToken(header, this.#tokens);
    const isSigned = hasSignature(header, this.#config);
    if (token === null && !isSigned) {
      throw unauthorized('Send "Authorization: Bearer <token>", or sign the request.');
    }
    if (token !== null) this.#count(token);
    requirePlainJson(header);
    const body = await readRawBody(context.env.incoming, this.#config.limits.bodyBytes);
    if (!isSigned && token !== null) return { caller: token, body };
    const signer = callerBySignature(header, body, this.#config, this.#clock.wallMs());
    if (token !== null) return { caller: narrower(token, signer), body };
    this.#count(signer);
    return { caller: signer, body };
  }

  #count(caller: Caller): void {
    const waitMs = this.#rates.take(caller.name);
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
