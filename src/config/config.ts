import type { AdminSettings } from '../admin/settings.ts';
import type { SealKey } from '../core/sealing/seal-keys.ts';
import type { FolderSettings } from '../intake/folder/settings.ts';
import type { WebhookSettings } from '../intake/http/settings.ts';
import type { LogSettings } from '../ops/settings.ts';
import type { AlertSettings, ResultsSettings } from '../results/settings.ts';
import type { Shop } from '../storefronts/settings.ts';
import type { BudgetLimits, SubmitSettings } from '../submit/settings.ts';
import type { WholesaleSettings } from '../wholesale/settings.ts';
import type { Origins } from './layers.ts';
import type { Readings, ResolvedDocument } from './derived-defaults.ts';

/** The database in the data folder. */
export const databaseName = 'order-sync.db';

/** The whole configuration: every path absolute, every secret read, every default filled in. It never changes. */
export interface Config {
  readonly instance: string;
  readonly dataDir: string;
  readonly databasePath: string;
  readonly init: 'never' | 'if-missing';
  readonly reference: {
    readonly prefix: string;
    readonly secretFile: string;
    /** Where the progress file is, by which an older copy of the database is noticed. */
    readonly progressFolder: string;
  };
  readonly disk: {
    /** With less free space on the disk of the outbox, no new orders are taken in. */
    readonly minFreeBytes: number;
    /** With less free space there, nothing is sent: 50 % of the above, because every call must be recorded. */
    readonly sendingMinFreeBytes: number;
  };
  readonly intake: {
    readonly folder: FolderSettings;
    /** Null: there is no intake over HTTP. */
    readonly webhook: WebhookSettings | null;
    /** Shops whose own webhooks are received. */
    readonly shops: readonly Shop[];
  };
  readonly wholesale: WholesaleSettings & { readonly limits: BudgetLimits };
  readonly submit: SubmitSettings;
  readonly results: ResultsSettings;
  /** Endpoints that are told when something is wrong. */
  readonly alerts: readonly AlertSettings[];
  readonly upkeep: {
    /** Cron expressions in UTC; null: never. */
    readonly backupSchedule: string | null;
    readonly checkSchedule: string | null;
  };
  readonly backup: { readonly folder: string; readonly keep: number };
  readonly retention: {
    /** For how many days delivered codes are kept; null: for ever. */
    readonly codesDays: number | null;
  };
  readonly seal: { readonly keys: readonly SealKey[] };
  readonly admin: AdminSettings;
  readonly log: LogSettings;
  readonly shutdown: { readonly graceMs: number };
  /** As written. Only the sandbox and the demo read it. */
  readonly sandbox: unknown;
}

/** A valid configuration, with what `check-config` and a reload need to know about it. */
export interface LoadedConfig {
  readonly config: Config;
  /** What `config` was made of. */
  readonly document: ResolvedDocument;
  readonly readings: Readings;
  /** The name of the file, as it was given. */
  readonly file: string;
  /** Sentences for the log about what works but should be corrected. */
  readonly warnings: readonly string[];
  readonly values: readonly ConfigValue[];
  /** Dotted path to a digest of its value, also of secrets: a comparison finds changes without showing values. */
  readonly digests: ReadonlyMap<string, string>;
}

/** One value with its source, for `check-config --explain`. Secrets are masked. */
export interface ConfigValue {
  readonly path: string;
  readonly value: unknown;
  readonly source: 'default' | NonNullable<ReturnType<Origins['of']>>['kind'];
  /** `file:line:column`, the variable or the flag; empty for a default. */
  readonly place: string;
}
