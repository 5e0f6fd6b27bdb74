import type { Logger } from 'pino';
import type { WorkerMetrics } from '../admin/metrics/worker-metrics.ts';
import type { Config, LoadedConfig } from '../config/config.ts';
import type { ConfigInUse } from '../config/reload-plan.ts';
import type { FolderIntake } from '../intake/folder/folder-intake.ts';
import type { WebhookIntake } from '../intake/http/webhook-intake.ts';
import type { SteadyClock } from '../ops/system-clock.ts';
import type { DiskGuard } from '../ops/disk-guard.ts';
import type { FileSink, Sink } from '../results/delivery-loop.ts';
import type { ResultFolder } from '../results/result-folder.ts';
import type { WriteBack } from '../results/write-back.ts';
import type { Clock, MachineClock, Random } from '../core/clock.ts';
import type { Store } from '../store/store.ts';
import type { ReadBack } from '../storefronts/read-back/read-back.ts';
import type { StorefrontIntake } from '../storefronts/storefront-intake.ts';
import type { ApiClock } from '../buying/proofs/api-clock.ts';
import type { AttemptDeps } from '../buying/run-call.ts';
import type { Dispatcher } from '../buying/dispatcher.ts';
import type { WholesaleClient } from '../wholesale/client.ts';
import type { ProgressKeeper } from './progress-file.ts';

export interface WorkerDeps {
  readonly config: Config;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: Random;
  readonly version: string;
  readonly pid: number;
  /** Aborts when the worker is asked to stop: a start that waits for space on the disk ends. */
  readonly stopping?: AbortSignal;
  /** Reads the configuration that `config` came from again. Absent: the worker refuses a reload. */
  readonly reading?:
    | (Omit<ConfigInUse, 'config'> & { readonly load: () => LoadedConfig })
    | undefined;
}

/** Before the outbox is open, with which its steady time continues. */
export interface MachineDeps extends WorkerDeps {
  readonly clock: MachineClock;
}

/** The same, with the steady time of the outbox, and with what every part reports its events to. */
export interface PartDeps extends WorkerDeps {
  readonly clock: SteadyClock;
  readonly metrics: WorkerMetrics;
}

/** The configuration in use. A reload replaces it: read it at each use. */
export interface CurrentConfig {
  config: Config;
}

/** The intake of the shops' orders that is in use. A reload replaces it. */
export interface CurrentStorefronts {
  intake: StorefrontIntake;
}

/** The delivery of results, and what makes its sinks anew for another configuration. */
export interface BuiltResults {
  readonly deliveries: WriteBack;
  readonly resultFolder: ResultFolder;
  readonly sinksOf: (config: Config) => readonly (Sink | FileSink)[];
}

export interface SubmissionParts extends AttemptDeps {
  readonly wholesale: WholesaleClient;
  readonly apiClock: ApiClock;
}

/**
 * The parts of a running worker that others reach: health, commands, pages, metrics and the reload.
 */
export interface WorkerParts {
  readonly store: Store;
  readonly progress: ProgressKeeper;
  readonly disk: DiskGuard;
  readonly submission: SubmissionParts;
  readonly dispatcher: Dispatcher;
  readonly results: BuiltResults;
  readonly folders: readonly FolderIntake[];
  readonly webhook: WebhookIntake | null;
  readonly storefronts: CurrentStorefronts;
  readonly readBack: ReadBack;
  /** Wakes every loop: a line, a result or a pause in the outbox has changed. */
  readonly notify: () => void;
}
