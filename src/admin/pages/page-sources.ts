import type { Clock } from '../../core/clock.ts';
import type { QueueExplanation } from '../../core/entry/queue-explanation.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';
import type { ActionForms } from './action-forms.ts';

/** Where the pages get from what they show. */
export interface PageSources {
  readonly read: OutboxReader;
  /** Why nothing is sent now, and when it will be, as the worker's own budget gate says. */
  readonly explainQueue: () => QueueExplanation;
  readonly instance: string;
  readonly environment: 'sandbox' | 'production';
  readonly version: string;
  readonly clock: Pick<Clock, 'wallMs' | 'monoMs'>;
  readonly forms: ActionForms;
}
