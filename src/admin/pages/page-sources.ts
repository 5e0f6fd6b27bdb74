import type { LoadedConfig } from '../../config/config.ts';
import type { Clock } from '../../core/clock.ts';
import type { QueueExplanation } from '../../core/operator/queue-explanation.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';
import type { ShownWorker } from '../html/document.ts';
import type { Visitor } from '../sign-in/visitor.ts';

export interface PageSources extends ShownWorker {
  readonly read: OutboxReader;
  /** Why nothing is sent now, and when it will be, as the worker's own budget gate says. */
  readonly explainQueue: () => QueueExplanation;
  /**
   * The values in use, with where they came from and when they were read; null: they cannot be
   * read.
   */
  readonly configInUse: () =>
    | (Pick<LoadedConfig, 'values' | 'digests'> & { readonly readAtMs: number })
    | null;
  /** Why checks of `/healthz` do not pass, with what to do first. */
  readonly troubles: () => Promise<readonly string[]>;
  readonly version: string;
  readonly clock: Pick<Clock, 'wallMs' | 'steadyMs'>;
}

export interface FormContext {
  readonly visitor: Visitor;
  readonly returnTo: string;
}

/** Whether this visitor may decide anything: only then do the pages have forms. */
export const mayDecide = ({ visitor }: FormContext): boolean =>
  visitor.role === 'operator' && visitor.csrf !== null;
