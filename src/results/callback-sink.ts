import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { renderResultDocument } from '../core/result/result-document.ts';
import { readConfirmed, resultEvents } from '../core/result/result-events.ts';
import type { Sink } from './delivery-loop.ts';
import type { CallbackSettings } from './settings.ts';
import { postSigned, type PostDeps } from './signed-post.ts';

interface CallbackDeps extends Pick<PostDeps, 'clock' | 'version' | 'connect'> {
  readonly endpoint: string;
  /** Read before each post: a reload can change it. */
  readonly receiver: () => CallbackSettings;
  /** Stretches every retry delay; 1 in production. */
  readonly retryTimeScale: number;
}

/**
 * The delay after each failure, as Standard Webhooks recommends: about three days, then the
 * delivery is given up.
 */
const retryDelaysMs = [
  5000,
  ...[5, 30, 120, 300, 600, 840, 1200, 1440].map((minutes) => minutes * 60_000),
];
export const callbackSinkName = (endpoint: string): string => `callback:${endpoint}`;

/** Posts each result to a receiver, signed, at least once; `postSigned` says what confirms it. */
export function callbackSink({ endpoint, receiver, retryTimeScale, ...deps }: CallbackDeps): Sink {
  const post = async (id: string, body: string, signal: AbortSignal): Promise<void> => {
    await postSigned(receiver(), { id, body }, { ...deps, signal, configKey: 'results.callbacks' });
  };
  return {
    name: callbackSinkName(endpoint),
    stopGraceMs: 2000,
    retryDelayMs: (failures) => {
      const delayMs = retryDelaysMs[failures - 1];
      return delayMs === undefined ? null : Math.round(delayMs * retryTimeScale);
    },
    deliver: async (document, { version, signal, ...delivery }) => {
      const { events: wants } = receiver();
      if (wants === null) {
        const body = renderResultDocument(document);
        const subject = JSON.stringify([document.source, document.order_id, version]);
        return await post(hash('sha256', subject + body, 'hex').slice(0, 32), body, signal);
      }
      const confirmed = readConfirmed(delivery.confirmed);
      const { events, after } = resultEvents(document, version, { wants, confirmed });
      for (const { id, body, announces, confirms } of events) {
        if (announces !== null) await delivery.confirm(JSON.stringify(announces));
        await post(id, `${JSON.stringify(body, null, 2)}\n`, signal);
        await delivery.confirm(JSON.stringify(confirms));
      }
      if (events.length > 0) return undefined;
      if (!isDeepStrictEqual(after, confirmed)) await delivery.confirm(JSON.stringify(after));
      return 'no_call';
    },
  };
}
