import type { LoadedConfig } from '../../config/config.ts';
import type { Clock } from '../../core/clock.ts';
import type { CallingCommand, CommandResult } from '../../core/operator/operator-command.ts';
import type { QueueExplanation } from '../../core/operator/queue-explanation.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';
import type { ActionForms } from './action-forms.ts';

export type CatalogueQuestion = Omit<Extract<CallingCommand, { action: 'read_catalogue' }>, 'action'>;
/** What the supplier's catalogue says about some products. */
export type CatalogueAnswer = Extract<CommandResult, { kind: 'catalogue' }>;

/** Where the pages get from what they show. */
export interface PageSources {
  readonly read: OutboxReader;
  /** Why nothing is sent now, and when it will be, as the worker's own budget gate says. */
  readonly explainQueue: () => QueueExplanation;
  /** How many calls the budget of all keys allows in a minute; null: that is not known. */
  readonly callsPerMinute: () => number | null;
  /** Looks up products on the budget of the worker. */
  readonly readCatalogue: (question: CatalogueQuestion) => Promise<CatalogueAnswer>;
  /** The values in use, with where they came from; null: they cannot be read. */
  readonly configInUse: () => Pick<LoadedConfig, 'values' | 'digests'> | null;
  readonly instance: string;
  readonly environment: 'sandbox' | 'production';
  readonly version: string;
  readonly clock: Pick<Clock, 'wallMs' | 'monoMs'>;
  readonly forms: ActionForms;
}
