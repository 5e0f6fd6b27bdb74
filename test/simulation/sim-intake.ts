import type { Logger } from 'pino';
import type { Clock } from '../../src/core/clock.ts';
import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { Sink } from '../../src/results/delivery-loop.ts';
import { folderSink, ResultFolder } from '../../src/results/result-folder.ts';
import { Loop } from '../../src/ops/loop.ts';
import { WebhookIntake } from '../../src/intake/http/webhook-intake.ts';
import type { Shop } from '../../src/storefronts/settings.ts';
import { StorefrontIntake } from '../../src/storefronts/storefront-intake.ts';
import { SimHttp } from './sim-http.ts';
import { SimStorefront } from './sim-storefront.ts';
import type { SimWrittenShop } from './sim-written-shop.ts';
import { SimWebhook, webhookCallers, type SenderOptions } from './sim-webhook.ts';
import { StoredLines } from './stored-lines.ts';
import { FolderIntake } from '../../src/intake/folder/folder-intake.ts';
import type { FolderSettings } from '../../src/intake/folder/settings.ts';
import type { Store } from '../../src/store/store.ts';
import { folderSettings } from '../support/intake-settings.ts';
import type { Coverage } from './coverage.ts';
import type { IntakePlan } from './intake-plan.ts';
import { simulatedRoot, useStandIn } from './node-tap.ts';
import { IntakeOracle } from './oracle-intake.ts';
import { SeededRandom } from './seeded-random.ts';
import type { CrashKind, SimDisk } from './sim-disk.ts';
import { FileErrors } from './file-errors.ts';
import { SimFiles } from './sim-files.ts';
import { SimMount } from './sim-mount.ts';
import type { SimProcess } from './sim-process.ts';
import { SimUploader } from './sim-uploader.ts';
import type { VirtualTime } from './virtual-time.ts';
import type { Invariant } from './invariants.ts';

/** The intake of one process of the worker. */
export interface IntakeParts {
  readonly failed: readonly Promise<never>[];
  stop(): Promise<void>;
}

export interface IntakeDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onAccepted: () => void;
}

export interface SimIntakeOptions {
  readonly plan: IntakePlan;
  readonly seed: number;
  readonly time: VirtualTime;
  readonly disk: SimDisk;
  readonly coverage: Coverage;
  readonly wallMs: () => number;
  readonly freeBytes: () => number;
  /** The worker may fail in the middle of a request. */
  readonly mayFail: boolean;
  readonly trace: (what: string) => void;
  readonly violate: (invariant: Invariant, sentence: string) => void;
  readonly onAcknowledged: (line: AcceptableLine, reference: string) => void;
  /** The sender took this back before it was sent to the API. */
  readonly onTakenBack: (reference: string) => void;
  /** Its shop took an entry back, and it needs review: a call of it may have bought it. */
  readonly onTakenBackLate: (reference: string) => void;
  readonly isSold: (reference: string) => boolean;
  /** The operator has acted on it. */
  readonly isTouched: (reference: string) => boolean;
  /** Every line that any sender sent, on any way. */
  readonly sentLines: () => readonly AcceptableLine[];
  /** The shops of its orders into which results are written. */
  readonly writtenShops: readonly SimWrittenShop[];
}

const folders = ['inbox', 'work', 'archive', 'rejected', 'results'] as const;

/** Tells the outbox which shops there are: what was paid before is not bought. */
async function connect(store: Store, shops: readonly Shop[], nowMs: number): Promise<void> {
  if (shops.length === 0) return;
  const named = shops.map(({ source }) => ({ title: source, source, fingerprints: [] }));
  await store.storefronts.adoptShops({ shops: named, nowMs });
}

/**
 * Everything before the outbox: shops that send files, and the worker's intake, which takes them
 * in.
 */
export class SimIntake {
  readonly oracle: IntakeOracle;
  readonly #options: SimIntakeOptions;
  readonly #random: SeededRandom;
  readonly #files: SimFiles;
  readonly #uploader: SimUploader;
  readonly #errors: FileErrors;
  readonly #http: SimHttp;
  readonly #webhook: SimWebhook;
  readonly #storefront: SimStorefront;
  /** One for each process, by its root. */
  readonly #mounts = new Map<string, SimMount>();

  constructor(options: SimIntakeOptions) {
    const { plan, seed, time, wallMs, trace, coverage } = options;
    this.#options = options;
    this.#random = new SeededRandom(seed ^ 0x7f4a7c15);
    this.#files = new SimFiles(this.#random.fork(), {
      folders,
      wallMs,
    });
    this.#uploader = new SimUploader({
      time,
      random: this.#random.fork(),
      files: this.#files,
      plan,
      trace,
    });
    this.#errors = new FileErrors(plan.fileErrors, coverage, trace);
    const stored = new StoredLines(options.disk);
    this.oracle = new IntakeOracle({
      ...options,
      stored,
      files: this.#files,
      uploader: this.#uploader,
    });
    const { lossShare } = plan;
    this.#http = new SimHttp({
      time,
      random: this.#random.fork(),
      lossShare,
      trace,
      violate: options.violate,
    });
    const senders: SenderOptions = {
      time,
      wallMs,
      http: this.#http,
      mayFail: options.mayFail,
      stored,
      violate: options.violate,
      hit: (place) => coverage.hit(place),
      onAcknowledged: options.onAcknowledged,
      onTakenBack: (reference) => {
        this.oracle.takenBack(reference);
        options.onTakenBack(reference);
      },
      onTakenBackLate: options.onTakenBackLate,
      isSold: options.isSold,
      isTouched: options.isTouched,
    };
    this.#webhook = new SimWebhook(plan.requests, senders);
    this.#storefront = new SimStorefront(plan, this.#random.fork(), senders, options.writtenShops);
  }

  begin(): void {
    const { time } = this.#options;
    useStandIn({
      files: (path) => this.#mountOf(path).calls,
      randomBytes: (size) =>
        Buffer.from(Array.from({ length: size }, () => this.#random.int(0, 255))),
      nextTurn: () => new Promise((resolve) => void time.after(0, () => resolve())),
    });
    this.#uploader.begin();
    this.#webhook.begin();
    this.#storefront.begin();
  }

  end(): void {
    this.#storefront.end();
    useStandIn(null);
  }

  #mountOf(path: string): SimMount {
    const [number = ''] = path.slice(simulatedRoot.length).split('/');
    const mount = this.#mounts.get(`${simulatedRoot}${number}`);
    if (mount === undefined) throw new Error(`no process has ${path}`);
    return mount;
  }

  #mountFor(process: SimProcess): SimMount {
    const { plan, freeBytes } = this.#options;
    const root = `${simulatedRoot}${process.number}`;
    const known = this.#mounts.get(root);
    if (known !== undefined) return known;
    const mount = new SimMount(root, process, {
      files: this.#files,
      random: this.#random,
      slowShare: plan.slowShare,
      freeBytes,
      errorOf: (port) => this.#errors.of(port),
      onMoved: (file, from, to) => this.oracle.moved(file, from, to),
    });
    this.#mounts.set(root, mount);
    return mount;
  }

  /** The worker's own sink, on the simulated files. */
  sinkOf(process: SimProcess): Sink {
    return folderSink(
      new ResultFolder(`${this.#mountFor(process).root}/results`, { mode: 0o600, gid: null }),
    );
  }

  /** The results as their reader sees them: `<source>/<file name>` and the text. */
  results(): ReadonlyMap<string, string> {
    const texts = new Map<string, string>();
    for (const folder of this.#files.foldersOf('results')) {
      for (const name of this.#files.names(folder).filter((it) => !it.startsWith('.'))) {
        const path = `${folder}/${name}`;
        texts.set(
          path.slice('results/'.length),
          this.#files.get(path, 'read').bytes.toString('utf8'),
        );
      }
    }
    return texts;
  }

  /** Starts the intake of a process, as the program does. */
  async start(
    process: SimProcess,
    { store, clock, logger, onAccepted }: IntakeDeps,
  ): Promise<IntakeParts> {
    const { plan } = this.#options;
    const mount = this.#mountFor(process);
    const config: FolderSettings = {
      ...folderSettings,
      sources: ['folder', 'shop', 'sim', 'test'],
      ready: plan.ready,
      // One long interval for few scans; most changes are noticed by an event.
      scanIntervalMs: 5000,
      stableObservations: 2,
      inbox: `${mount.root}/inbox`,
      work: `${mount.root}/work`,
      archive: `${mount.root}/archive`,
      rejected: `${mount.root}/rejected`,
    };
    const hasSpace = async (): Promise<boolean> => this.#options.freeBytes() >= 200 * 1024 * 1024;
    const options = { store, clock, logger, config, hasSpace, onAccepted };
    const folder = new FolderIntake({
      ...options,
      openSkuMap: () => null,
      onFileEnded: () => undefined,
    });
    await folder.start();
    mount.failing = true;
    const configured = plan.shopOrders.length === 0 ? [] : this.#storefront.shops;
    await connect(store, configured, clock.wallMs());
    const shops = new StorefrontIntake({
      shops: configured,
      store: store.storefronts,
      clock,
      logger,
      onChanged: onAccepted,
    });
    const webhook = await WebhookIntake.start({
      openSkuMap: () => null,
      store,
      clock,
      logger,
      config: webhookCallers,
      shops,
      version: '0',
      onAccepted,
      readBack: this.#storefront.readBack,
      startServer: this.#http.serverOf(process),
    });
    this.#storefront.started(shops);
    const maps = new Loop({ clock, round: () => shops.followMaps() });
    // The map of other runs does not change, and rounds take most of the time of a long one.
    if (plan.lostSku !== null) maps.start();
    return {
      failed: [folder.failed, webhook.failed, maps.failed],
      stop: async () => {
        await maps.stop();
        await webhook.stop();
        await folder.stop();
      },
    };
  }

  crash(kind: CrashKind): void {
    this.#http.crash();
    this.#storefront.stopped();
    this.#files.crash(kind);
    if (kind === 'power') this.#uploader.losePower();
    this.#uploader.workerIsGone();
  }

  /** The worker stopped in good order. */
  stopped(): void {
    this.#http.crash();
    this.#storefront.stopped();
    this.#uploader.workerIsGone();
  }

  /** The faults end. */
  endFaults(): void {
    this.#errors.end();
    this.#http.lossShare = 0;
  }

  /** Everything that is in the outbox counts as acknowledged at the end. */
  acknowledgeStored(): void {
    this.oracle.acknowledgeStored();
    this.#storefront.acknowledgeStored();
    this.tellTakenBack();
  }

  /** What was taken back, although the answer may have been lost. */
  tellTakenBack(): void {
    this.#webhook.tellTakenBack();
  }

  /** The names in each folder, for people. */
  describe(): readonly string[] {
    return folders
      .flatMap((folder) => this.#files.foldersOf(folder))
      .map((folder) => `${folder}: ${this.#files.names(folder).join(' ')}`);
  }

  /** Whether all was sent, and taken in. */
  get done(): boolean {
    if (!this.#uploader.done || !this.#webhook.done || !this.#storefront.done) return false;
    const inbox = this.#files.names('inbox');
    const work = this.#files.names('work');
    // A marker can stay alone when two uploads of one file overlap.
    return [...inbox.filter((name) => !name.endsWith('.done')), ...work].every((name) =>
      name.startsWith('.'),
    );
  }
}
