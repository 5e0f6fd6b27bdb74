import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../core/clock.ts';
import { renderResultDocument, type ResultDocument } from '../core/result/result-document.ts';
import { readConfirmed, resultEvents } from '../core/result/result-events.ts';
import type { OpenConnections } from '../ops/outgoing-http.ts';
import type { Delivery, Sink } from './delivery-loop.ts';
import type { CallbackSettings } from './settings.ts';
import { postSigned } from './signed-post.ts';

interface CallbackDeps {
  /** The name of the endpoint. */
  readonly endpoint: string;
  /** Read before each post: a reload can change it. */
  readonly receiver: () => CallbackSettings;
  readonly clock: Clock;
  readonly version: string;
  /** Stretches every retry delay; 1 in production. */
  readonly retryTimeScale: number;
  /** Absent: real connections. */
  readonly connect?: OpenConnections;
}

/** The delay after each failure, as Standard Webhooks recommends: about three days, then the delivery is given up. */
const retryDelaysMs = [5000, ...[5, 30, 120, 300, 600, 840, 1200, 1440].map((minutes) => minutes * 60_000)];
/** Deliveries to an endpoint are recorded under this name. */
export const callbackSinkName = (endpoint: string): string => `callback:${endpoint}`;

/**
 * Posts each result to a receiver, signed, at least once. Only a 2xx confirms it. A redirect is never followed, because
 * delivered codes would go to an address that nobody configured.
 */
export class CallbackSink implements Sink {
  readonly name: string;
  readonly stopGraceMs = 2000;
  readonly #deps: CallbackDeps;

  constructor(deps: CallbackDeps) {
    this.#deps = deps;
    this.name = callbackSinkName(deps.endpoint);
  }

  retryDelayMs(failures: number): number | null {
    const delayMs = retryDelaysMs[failures - 1];
    return delayMs === undefined ? null : Math.round(delayMs * this.#deps.retryTimeScale);
  }

  async deliver(document: ResultDocument, delivery: Delivery): Promise<void | 'no_call'> {
    const { events: wants } = this.#deps.receiver();
    if (wants === null) {
      const body = renderResultDocument(document);
      const subject = JSON.stringify([document.source, document.order_id, delivery.version]);
      const id = createHash('sha256').update(subject).update(body).digest('hex').slice(0, 32);
      return await this.#post(id, body, delivery.signal);
    }
    const confirmed = readConfirmed(delivery.confirmed);
    const { events, after } = resultEvents(document, delivery.version, { wants, confirmed });
    for (const { id, body, announces, confirms } of events) {
      if (announces !== null) await delivery.confirm(JSON.stringify(announces));
      await this.#post(id, `${JSON.stringify(body, null, 2)}\n`, delivery.signal);
      await delivery.confirm(JSON.stringify(confirms));
    }
    if (events.length > 0) return;
    if (!isDeepStrictEqual(after, confirmed)) await delivery.confirm(JSON.stringify(after));
    return 'no_call';
  }

  async #post(id: string, body: string, signal: AbortSignal): Promise<void> {
    const { clock, version, connect } = this.#deps;
    const post = { clock, version, signal, configKey: 'results.callbacks' };
    await postSigned(this.#deps.receiver(), { id, body }, connect === undefined ? post : { ...post, connect });
  }
}
