import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import type { Clock } from '../../../src/core/clock.ts';
import type { FolderSettings } from '../../../src/intake/folder/settings.ts';
import { folderSettings } from '../../support/intake-settings.ts';
import { writeNewDatabase } from '../../support/new-database.ts';
import { FolderIntake } from '../../../src/intake/folder/folder-intake.ts';
import { SkuFile } from '../../../src/storefronts/sku-file.ts';
import { openStore } from '../../../src/store/store.ts';
import type { Store } from '../../../src/store/store.ts';

/**
 * A clock that a test moves; sleeping on it ends when it is moved far enough, or at once by the
 * signal.
 */
export class TestClock implements Clock {
  readonly bootId = 'test';
  #now = 1_800_000_000_000;

  wallMs(): number {
    return this.#now;
  }
  steadyMs(): number {
    return this.#now;
  }
  advance(ms: number): void {
    this.#now += ms;
  }
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await delay(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
    this.#now += ms;
  }
}

export interface LogLine {
  level: number;
  msg: string;
  [key: string]: unknown;
}

/** A folder with everything an intake needs, with the real store on a real file. */
export class FolderBench {
  readonly root = mkdtempSync(join(tmpdir(), 'order-sync-intake-'));
  readonly clock = new TestClock();
  readonly log: LogLine[] = [];
  readonly config: FolderSettings;
  accepted = 0;
  /** Whether the disk of the outbox has space for new orders. */
  hasSpace = true;
  #acceptance = Promise.withResolvers<void>();
  store: Store;
  intake: FolderIntake;

  constructor(changes: Partial<FolderSettings> = {}) {
    this.config = {
      ...folderSettings,
      inbox: join(this.root, 'inbox'),
      work: join(this.root, 'work'),
      archive: join(this.root, 'archive'),
      rejected: join(this.root, 'rejected'),
      stableObservations: 1,
      stableMs: 0,
      unfinishedMs: 0,
      ...changes,
    };
    writeNewDatabase(join(this.root, 'order-sync.db'));
    this.store = this.openStore();
    this.intake = this.newIntake();
  }

  openStore(): Store {
    return openStore({
      path: join(this.root, 'order-sync.db'),
      init: 'if-missing',
      namespace: { instance: 'test', prefix: 'os', secret: Buffer.alloc(32, 7) },
      upstream: 'sandbox',
      sinks: [{ name: 'folder', sources: null }],
    });
  }

  newIntake(changes: Partial<FolderSettings> = {}, store: Store = this.store): FolderIntake {
    const sink = { write: (line: string) => this.log.push(JSON.parse(line)) };
    const logger = pino({ level: 'trace' }, sink);
    return new FolderIntake({
      store,
      clock: this.clock,
      logger,
      config: { ...this.config, ...changes },
      openSkuMap: (path) => (path === null ? null : new SkuFile(path, this.clock, logger)),
      hasSpace: async () => this.hasSpace,
      onFileEnded: () => undefined,
      onAccepted: () => {
        this.accepted += 1;
        this.#acceptance.resolve();
      },
    });
  }

  /** Resolves when lines are accepted the next time. */
  nextAccepted(): Promise<void> {
    this.#acceptance = Promise.withResolvers<void>();
    return this.#acceptance.promise;
  }

  /** Opens everything again, as a new process does. */
  async restart(): Promise<void> {
    await this.store.close();
    this.store = this.openStore();
    this.intake = this.newIntake();
  }

  /** Writes under a temporary name, then renames, as a careful writer does. */
  drop(name: string, content: string | Uint8Array): void {
    const temporary = join(this.config.inbox, `.${Math.random()}.tmp`);
    writeFileSync(temporary, content);
    renameSync(temporary, join(this.config.inbox, name));
  }

  names(folder: 'inbox' | 'work' | 'rejected'): string[] {
    return readdirSync(this.config[folder]).toSorted();
  }

  archived(): string[] {
    if (!existsSync(this.config.archive)) return [];
    return readdirSync(this.config.archive, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => entry.name)
      .toSorted();
  }

  /** The only error report. */
  report(): Report {
    const names = this.names('rejected').filter((name) => name.endsWith('.error.json'));
    if (names.length !== 1)
      throw new Error(`one report was expected, there are ${JSON.stringify(names)}`);
    return JSON.parse(readFileSync(join(this.config.rejected, names[0] ?? ''), 'utf8'));
  }

  entryCount(): number {
    return Object.values(this.store.read.counts()).reduce((sum, count) => sum + count, 0);
  }

  async close(): Promise<void> {
    await this.intake.stop();
    await this.store.close();
    rmSync(this.root, { recursive: true, force: true });
  }
}

export interface Report {
  file: string;
  file_id: string;
  code: string;
  message: string;
  line?: number | null;
  next_step: string;
  lines?: {
    line: number;
    order_id: string;
    line_id: string;
    code: string;
    field: string;
    rule: string;
    value: string;
  }[];
}

export const csvHeader = 'order_id,line_id,type,variant,plan,iccid,quantity,days,currency';
