import { Agent, request } from 'undici';
import type { Clock } from '../core/clock.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { renderResultDocument, type ResultDocument } from '../core/result/result-document.ts';
import { callbackHeaders } from './callback-signature.ts';
import type { CallbackSettings } from './settings.ts';
import type { Delivery, Sink } from './sink.ts';

export interface CallbackDeps {
  /** As it is configured at the moment of a post. */
  readonly target: () => CallbackSettings;
  readonly clock: Clock;
  readonly version: string;
  /** Stretches every retry delay; 1 in production. */
  readonly retryTimeScale: number;
}

const minutes = (count: number): number => count * 60_000;
/** After each failure, as Standard Webhooks recommends it: for about three days, then a person is told. */
const delaysMs = [
  5000,
  minutes(5),
  minutes(30),
  minutes(120),
  minutes(300),
  minutes(600),
  minutes(840),
  minutes(1200),
  minutes(1440),
];
/** What a receiver says is not needed beyond its status; more than this of it is never read. */
const answerBytes = 16_384;

/**
 * Posts each result to a receiver, signed, at least once. Only a 2xx counts as taken; a redirect is never followed,
 * because it would carry delivered codes to an address that nobody configured.
 */
export class CallbackSink implements Sink {
  readonly name = 'callback';
  readonly stopGraceMs = 2000;
  readonly #deps: CallbackDeps;

  constructor(deps: CallbackDeps) {
    this.#deps = deps;
  }

  retryDelayMs(failures: number): number | null {
    const delayMs = delaysMs[failures - 1];
    return delayMs === undefined ? null : Math.round(delayMs * this.#deps.retryTimeScale);
  }

  async deliver(document: ResultDocument, delivery: Delivery): Promise<void> {
    const { clock, version } = this.#deps;
    const { url, secret, connectMs, totalMs } = this.#deps.target();
    const body = renderResultDocument(document);
    const late = AbortSignal.timeout(totalMs);
    // A connection of its own: what a receiver left half said on one is never taken for the answer to another.
    const agent = new Agent({
      // Said here, verification also holds against NODE_TLS_REJECT_UNAUTHORIZED: codes are as good as money.
      connect: { timeout: connectMs, rejectUnauthorized: true },
      pipelining: 0,
      connections: 1,
      allowH2: false,
    });
    try {
      const answer = await request(url, {
        method: 'POST',
        dispatcher: agent,
        headersTimeout: totalMs,
        bodyTimeout: totalMs,
        signal: AbortSignal.any([delivery.signal, late]),
        headers: {
          'content-type': 'application/json',
          'user-agent': `order-sync/${version}`,
          ...callbackHeaders(secret, { document, version: delivery.version, body, nowMs: clock.wallMs() }),
        },
        body,
      });
      // The status has decided. The rest is read only so that the receiver is not cut off in the middle of a word.
      await answer.body.dump({ limit: answerBytes, signal: AbortSignal.timeout(1000) }).catch(() => undefined);
      if (answer.statusCode >= 200 && answer.statusCode < 300) return;
      throw refusal(answer.statusCode);
    } catch (error) {
      if (late.aborted && !delivery.signal.aborted) throw unreachable(`did not answer within ${totalMs} ms`, error);
      throw error instanceof OrderSyncError ? error : unreachable(reasonOf(error), error);
    } finally {
      await agent.destroy();
    }
  }
}

function refusal(status: number): OrderSyncError {
  const isRedirect = status >= 300 && status < 400;
  const why = isRedirect ? ': a redirect is never followed, name the address itself' : '';
  return new OrderSyncError('UNREACHABLE', `the receiver answered ${status}${why}`, {
    hint: 'see results.callback in the configuration',
  });
}

function unreachable(why: string, cause: unknown): OrderSyncError {
  return new OrderSyncError('UNREACHABLE', `the receiver could not be reached: ${why}`, { cause });
}

/** The code of the network's error; its message may repeat parts of what was sent. */
function reasonOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? error.name : 'unknown';
}
