import type { Buffer } from 'node:buffer';
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { Clock } from '../../core/clock.ts';
import type { AcceptableLine } from '../../core/order/order-request.ts';
import { type KnownToken, knownTokens, ownerOfToken, RateLimit } from '../../ops/callers.ts';
import type { CallerLimits } from './caller-limits.ts';
import { HttpProblem } from './problem.ts';
import type { TokenCaller, TokenScope, WebhookSettings } from './settings.ts';
import {
  type StandardWebhookHeaders,
  standardWebhookHeaders,
  verifyStandardWebhook,
} from './signatures.ts';

export interface Web {
  Bindings: HttpBindings;
}

/** Who sends a request: the name for logs, and the orders that it may touch. */
export interface Caller {
  readonly name: string;
  /** The source of orders that name none; null: nothing names it for this caller. */
  readonly source: string | null;
  readonly sources: readonly string[] | null;
  /** The balance for orders that name none; null: each must. */
  readonly currency: string | null;
  readonly scopes: readonly TokenScope[];
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
   * The caller by its token. Reading and cancelling need one: a signature covers only the body, so
   * a signed request without a body could be redirected to any order.
   */
  withToken(context: Context<Web>, scope: TokenScope): Caller {
    const caller = this.#callerByToken(context, scope);
    if (caller === null) throw unauthorized('Send "Authorization: Bearer <token>".');
    return caller;
  }

  /**
   * The caller by token, signature or both, and what `read` makes of the body, which is only read
   * for one of them.
   */
  async withBody<T>(
    context: Context<Web>,
    read: (body: Buffer, caller: Caller) => T,
  ): Promise<{ caller: Caller; content: T }> {
    const { incoming } = context.env;
    const token = this.#callerByToken(context, 'post');
    const signature =
      this.#config.standardWebhooks.length === 0 ? null : standardWebhookHeaders(incoming.headers);
    if (token === null && signature === null) {
      throw unauthorized('Send "Authorization: Bearer <token>", or sign the request.');
    }
    requirePlainJson(context);
    const from = { isVerified: token !== null, maxBytes: this.#config.limits.bodyBytes };
    return await this.#limits.useBody(incoming, from, (body) => {
      const caller =
        token !== null && signature === null
          ? token
          : this.#signer(context, signature, body, token);
      // To read it takes as long as to answer many small requests.
      this.count(caller, Math.floor(body.length / bytesPerRequest));
      return { caller, content: read(body, caller) };
    });
  }

  /**
   * Null when the request has no token. Throws HttpProblem when it is unknown, must wait, or was not
   * made for this.
   */
  #callerByToken({ env }: Context<Web>, scope: TokenScope): Caller | null {
    const { authorization } = env.incoming.headers;
    if (authorization === undefined) return null;
    const sent = /^Bearer +([\x21-\x7e]{1,4096})$/i.exec(authorization)?.[1];
    const found = sent === undefined ? null : ownerOfToken(this.#tokens, sent);
    const waitMs = this.#limits.failedTokens.judge(
      env.incoming.socket.remoteAddress,
      sent ?? '',
      found?.name ?? null,
    );
    if (waitMs > 0)
      throw tooOften(
        'Too many wrong tokens came from this address; the token of this request was not checked.',
        waitMs,
      );
    if (found === null) throw unauthorized('The bearer token is not known.');
    const { name, sources, scopes, currency } = found;
    const caller = { name, source: sources[0] ?? null, sources, scopes, currency };
    this.#limits.guard.proven(env.incoming.socket);
    this.count(caller);
    if (scopes.includes(scope)) return caller;
    const detail = `This token has no permission to ${scope} orders: its scopes are ${scopes.join(', ')}.`;
    throw new HttpProblem('scope_not_allowed', detail);
  }

  /**
   * The caller by the signature of the raw body. With a token, too, both must be valid, and the
   * narrower right counts. Throws HttpProblem when no caller's secret made the signature.
   */
  #signer(
    { env }: Context<Web>,
    signature: StandardWebhookHeaders | null,
    body: Buffer,
    token: Caller | null,
  ): Caller {
    if (signature === null) throw unauthorized('The signature is missing.');
    const signed = verifyStandardWebhook(
      signature,
      body,
      this.#config.standardWebhooks,
      this.#clock.wallMs(),
    );
    if (!signed.ok) throw unauthorized(`The signature is not valid: ${signed.why}.`);
    const { name, source } = signed.caller;
    const sources = source === null ? null : [source];
    if (token === null) {
      const signer: Caller = { name, source, sources, currency: null, scopes: ['post'] };
      this.#limits.guard.proven(env.incoming.socket);
      this.count(signer);
      return signer;
    }
    if (source === null) return token;
    if (token.sources === null || token.sources.includes(source))
      return { ...token, source, sources };
    throw new HttpProblem(
      'source_not_allowed',
      'The token and the signature belong to different sources.',
    );
  }

  count(caller: Caller, requests = 1): void {
    if (requests === 0) return;
    const waitMs = this.#rates.take(caller.name, requests);
    if (waitMs === 0) return;
    const seconds = Math.ceil(waitMs / 1000);
    const { requestsPerMinute } = this.#config.limits;
    throw tooOften(
      `${requestsPerMinute} requests a minute are allowed; try again in ${seconds} s.`,
      waitMs,
    );
  }
}

/** Throws HttpProblem when the caller may not touch orders of this source. */
export function requireSource(caller: Caller, source: string): void {
  if (caller.sources === null || caller.sources.includes(source)) return;
  const own = caller.sources.map((one) => `"${one}"`).join(', ');
  throw new HttpProblem(
    'source_not_allowed',
    `This caller has permission only for orders of the source ${own}.`,
  );
}

/** A line as the caller knows it. */
export const placeOf = ({ source, orderId, lineId }: AcceptableLine): string =>
  `${source}/${orderId}, line "${lineId}"`;

/** Throws HttpProblem when lines cancel eSIMs, and the caller may not. */
export function requireCancelScope(caller: Caller, lines: readonly AcceptableLine[]): void {
  const cancel = lines.find(({ operation }) => operation === 'esim_cancel');
  if (cancel === undefined || caller.scopes.includes('cancel_esim')) return;
  throw new HttpProblem(
    'scope_not_allowed',
    `${placeOf(cancel)}: an esim_cancel needs a token with the scope \`cancel_esim\`; this caller has ${caller.scopes.join(', ')}.`,
  );
}

function tooOften(detail: string, waitMs: number): HttpProblem {
  return new HttpProblem('rate_limited', detail, {
    headers: { 'retry-after': String(Math.ceil(waitMs / 1000)) },
  });
}

function unauthorized(detail: string): HttpProblem {
  return new HttpProblem('unauthorized', detail, {
    headers: { 'www-authenticate': 'Bearer realm="order-sync"' },
  });
}

function requirePlainJson({ env }: Context<Web>): void {
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } =
    env.incoming.headers;
  if (!/^application\/(?:[a-z0-9.-]+\+)?json\s*(?:;|$)/i.test(type)) {
    throw new HttpProblem('unsupported_media_type', 'Send "Content-Type: application/json".');
  }
  if (encoding.toLowerCase() !== 'identity') {
    throw new HttpProblem(
      'unsupported_media_type',
      `The content encoding "${encoding.slice(0, 32)}" is not supported.`,
    );
  }
}
