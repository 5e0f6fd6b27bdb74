import type { Buffer } from 'node:buffer';
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { Clock } from '../../core/clock.ts';
import {
  type Caller,
  callerBySignature,
  callerByToken,
  claimsSignature,
  type HeaderReader,
  narrower,
  unauthorized,
} from './authenticate.ts';
import { Refusal } from './problem.ts';
import { RateLimit } from './rate-limit.ts';
import { readRawBody } from './raw-body.ts';
import type { WebhookSettings } from './settings.ts';

export interface Web {
  Bindings: HttpBindings;
}

/** Who may come in, and how often: everything that is decided before a body is looked into. */
export class Admission {
  readonly #config: WebhookSettings;
  readonly #clock: Clock;
  readonly #rates: RateLimit;

  constructor(config: WebhookSettings, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
    this.#rates = new RateLimit(clock, config.limits.requestsPerMinute, config.limits.burst);
  }

  /**
   * The caller by its token. Reading and taking back need one: a signature covers the body alone, so that a signed
   * request without a body could be pointed at any order.
   */
  withToken(context: Context<Web>): Caller {
    const caller = callerByToken(headerReader(context), this.#config.tokens);
    if (caller === null) throw unauthorized('Send "Authorization: Bearer <token>".');
    this.#count(caller);
    return caller;
  }

  /** The caller by its token, its signature or both, and the body. A body is only read for a caller who may be one. */
  async withBody(context: Context<Web>): Promise<{ caller: Caller; body: Buffer }> {
    const header = headerReader(context);
    const token = callerByToken(header, this.#config.tokens);
    const signed = claimsSignature(header, this.#config);
    if (token === null && !signed) {
      throw unauthorized('Send "Authorization: Bearer <token>", or sign the request.');
    }
    if (token !== null) this.#count(token);
    requirePlainJson(header);
    const body = await readRawBody(context.env.incoming, this.#config.limits.bodyBytes);
    if (!signed && token !== null) return { caller: token, body };
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

/** Headers as Node read them: one that came twice where it must not is joined by a comma, and then fits nothing. */
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
    throw new Refusal('unsupported_media_type', `A body in the encoding "${encoding.slice(0, 32)}" is not read.`);
  }
}
