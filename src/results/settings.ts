import type { ResultEventType } from '../core/result/result-events.ts';
import type { FileAccess } from '../ops/files.ts';
import type { PostReceiver } from './signed-post.ts';

export interface ResultsSettings {
  /** Absolute. */
  readonly folder: string;
  /** Who may read the files in it. */
  readonly access: FileAccess;
  /** After so many days the files of settled and delivered orders are removed; null: never. */
  readonly keepDays: number | null;
  readonly callbacks: readonly CallbackSettings[];
}

export interface CallbackSettings extends PostReceiver {
  readonly name: string;
  /** Null: results of every source. */
  readonly sources: readonly string[] | null;
  /** The events that are posted; null: the result itself, at each change. */
  readonly events: readonly ResultEventType[] | null;
}

/** How long a post of a result may take; `scale` shortens it in trials. */
export const callbackTimeouts = (scale: number) => ({
  connectMs: Math.max(1500, 5000 * scale),
  totalMs: Math.max(1500, 15_000 * scale),
});

export const alertTopics = ['attention', 'paused', 'deliveries', 'disk', 'health'] as const;
export type AlertTopic = (typeof alertTopics)[number];

export interface AlertSettings extends PostReceiver {
  readonly name: string;
  /** `json`: an event of the Standard Webhooks form; `slack`: `{ text }`. */
  readonly format: 'json' | 'slack';
  readonly on: readonly AlertTopic[];
  /** At most one alert in this time, in ms. */
  readonly intervalMs: number;
}

/** How often an alert is posted at most, and how long a post may take; `scale` shortens the first in trials. */
export const alertPace = (scale: number) => ({ intervalMs: 900_000 * scale, connectMs: 5000, totalMs: 15_000 });
