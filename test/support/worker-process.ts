import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import SqliteDatabase from 'better-sqlite3';
import { parse, stringify } from 'yaml';
import { createSandbox, type Sandbox } from '../../sandbox/create-sandbox.ts';
import type { SandboxConfig } from '../../sandbox/settings/config.ts';

export const projectRoot = resolve(import.meta.dirname, '../..');

/**
 * The folder of the program that tests start: the clone, or in CI also one that has only the
 * bundle.
 */
const programFolder = process.env['TESTED_PROGRAM'] ?? projectRoot;

export interface InstallationOptions {
  readonly sandbox?: SandboxConfig;
  /** The address of another API than the sandbox, which is then not started. */
  readonly api?: string;
  readonly limits?: { window_ms: number; requests: number; orders: number; transit_ms: number };
  readonly submit?: Record<string, number>;
  /** Shortens all delays of the worker. Default: a 500th. */
  readonly timeScale?: number;
  /** Keys of its folder `folder`, and other folders. */
  readonly folder?: Record<string, unknown>;
  readonly folders?: readonly Record<string, unknown>[];
  readonly webhook?: Record<string, unknown>;
  readonly callback?: Record<string, unknown>;
  readonly keys?: readonly Record<string, string>[];
  /** Parts of the mapping of names and paths. */
  readonly wire?: Record<string, unknown>;
  /** Of a call. */
  readonly timeoutMs?: number;
}

/** An order of one gift card, as one line of JSON. */
export const order = (id: number): string =>
  JSON.stringify({
    source: 'shop',
    order_id: String(id),
    currency: 'USD',
    lines: [{ line_id: '1', type: 'gift_card_order', variant: 'steam-usd-5', quantity: 1 }],
  });

function openSandbox(folder: string, config: SandboxConfig | undefined): Promise<Sandbox> {
  const database = join(folder, 'sandbox.db');
  return createSandbox({ database, config: { limits: { enabled: false }, ...config } });
}

/** A line of the worker's log. */
export type LogLine = Record<string, unknown> & { msg: string };

/** A data folder with its config file, a sandbox, and workers as real processes. */
export class Installation {
  readonly folder: string;
  readonly #sandbox: Sandbox | null;
  readonly configFile: string;
  readonly #children = new Set<ChildProcess>();

  private constructor(folder: string, sandbox: Sandbox | null, configFile: string) {
    this.folder = folder;
    this.#sandbox = sandbox;
    this.configFile = configFile;
  }

  static async open(options: InstallationOptions = {}): Promise<Installation> {
    const folder = mkdtempSync(join(tmpdir(), 'order-sync-installation-'));
    const sandbox = options.api === undefined ? await openSandbox(folder, options.sandbox) : null;
    const configFile = join(folder, 'worker.yaml');
    const { requests, orders, ...window } = options.limits ?? {
      window_ms: 50,
      requests: 6000,
      orders: 2000,
      transit_ms: 50,
    };
    const config = {
      instance: 'test-shop',
      data_dir: folder,
      init: 'if-missing',
      intake: {
        folders: [
          { name: 'folder', inbox: join(folder, 'inbox'), ...options.folder },
          ...(options.folders ?? []),
        ],
        ...(options.webhook === undefined
          ? {}
          : { webhook: { listen: '127.0.0.1:0', ...options.webhook } }),
      },
      wholesale: {
        environment: 'sandbox',
        base_url: options.api ?? sandbox?.url,
        keys: options.keys ?? [{ name: 'main', value: 'sandbox-key-main' }],
        limits: { requests, orders },
        ...(options.wire === undefined ? {} : { wire: options.wire }),
        ...(options.timeoutMs === undefined ? {} : { timeout_ms: options.timeoutMs }),
      },
      submit: { in_flight_window_ms: 300, ...options.submit },
      trial: { time_scale: options.timeScale ?? 0.002, ...window },
      ...(options.callback === undefined
        ? {}
        : { results: { callbacks: [{ name: 'shop', ...options.callback }] } }),
      admin: { listen: '127.0.0.1:0' },
    };
    writeFileSync(configFile, stringify(config));
    mkdirSync(join(folder, 'inbox'), { recursive: true });
    return new Installation(folder, sandbox, configFile);
  }

  /** Throws where the installation was opened with another API. */
  get sandbox(): Sandbox {
    if (this.#sandbox === null) throw new Error('this installation has no sandbox');
    return this.#sandbox;
  }

  get databasePath(): string {
    return join(this.folder, 'order-sync.db');
  }

  /** Changes the config file. A running worker notices it at its next reload. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a test may also write an invalid config
  configure(change: (config: any) => void): void {
    const config: unknown = parse(readFileSync(this.configFile, 'utf8'));
    change(config);
    writeFileSync(this.configFile, stringify(config));
  }

  /** Puts an order file into an inbox as a shop should: it writes a hidden file and renames it. */
  drop(name: string, text: string, inbox = 'inbox'): void {
    const draft = join(this.folder, inbox, `.${name}.tmp`);
    writeFileSync(draft, text);
    renameSync(draft, join(this.folder, inbox, name));
  }

  /**
   * Starts a worker. `wrapper`: a command that runs it, such as strace. `program`: the folder of
   * the program.
   */
  start(
    wrapper: readonly string[] = [],
    configFile = this.configFile,
    program = programFolder,
  ): WorkerProcess {
    const own = ['bin/order-sync.js', 'run', '--config', configFile];
    const [command, args] =
      wrapper.length === 0
        ? [process.execPath, own]
        : [wrapper[0] ?? '', [...wrapper.slice(1), process.execPath, ...own]];
    const child = spawn(command, args, { cwd: program, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    return new WorkerProcess(child);
  }

  /** Changes the outbox beside the worker. */
  change(sql: string): void {
    const database = new SqliteDatabase(this.databasePath);
    try {
      database.exec(sql);
    } finally {
      database.close();
    }
  }

  /** Queries the outbox while the worker may be running. */
  query<T>(sql: string): T[] {
    const database = new SqliteDatabase(this.databasePath, { readonly: true });
    try {
      return database.prepare<[], T>(sql).all();
    } finally {
      database.close();
    }
  }

  results(): Map<
    string,
    { state: string; lines: { state: string; entries: { reference: string }[] }[] }
  > {
    const found = new Map<
      string,
      { state: string; lines: { state: string; entries: { reference: string }[] }[] }
    >();
    const folder = join(this.folder, 'results');
    for (const source of readdirSync(folder)) {
      for (const name of readdirSync(join(folder, source))) {
        if (name.startsWith('.') || !name.endsWith('.json')) continue;
        found.set(
          `${source}/${name.replace(/\.json$/, '')}`,
          JSON.parse(readFileSync(join(folder, source, name), 'utf8')),
        );
      }
    }
    return found;
  }

  /** The CSV results, by name. */
  csvResults(): Map<string, string> {
    const folder = join(this.folder, 'results', 'files');
    const names = existsSync(folder)
      ? readdirSync(folder).filter((name) => !name.startsWith('.'))
      : [];
    return new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
  }

  async close(): Promise<void> {
    for (const child of this.#children) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await this.#sandbox?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A worker process, with its log. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #exit: Promise<number | null>;
  readonly log: LogLine[] = [];
  #stderr = '';
  #onLine: () => void = () => undefined;

  constructor(child: ChildProcess) {
    this.#child = child;
    this.#exit = once(child, 'exit').then(([code]: unknown[]) =>
      typeof code === 'number' ? code : null,
    );
    if (child.stdout === null || child.stderr === null)
      throw new Error('the output of the worker is not piped');
    createInterface({ input: child.stdout }).on('line', (text) => {
      this.log.push(JSON.parse(text));
      this.#onLine();
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
  }

  /** The signal that ended it; null: none did. */
  get signal(): NodeJS.Signals | null {
    return this.#child.signalCode;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /**
   * Resolves with the first line that matches, old or new. Rejects when the worker ends without
   * one.
   */
  async line(matches: (line: LogLine) => boolean): Promise<LogLine> {
    for (let seen = 0; ; ) {
      while (seen < this.log.length) {
        const line = this.log[seen];
        seen += 1;
        if (line !== undefined && matches(line)) return line;
      }
      const { promise, resolve: next } = Promise.withResolvers<void>();
      this.#onLine = next;
      const ended = await Promise.race([promise.then(() => false), this.#exit.then(() => true)]);
      if (ended && seen >= this.log.length)
        throw new Error(`the worker ended before that line: ${this.#stderr}`);
    }
  }

  started(): Promise<LogLine> {
    return this.line((line) => line.msg === 'worker started');
  }

  /** Asks the worker to reload its configuration. Resolves with the log line of the result. */
  async reload(): Promise<LogLine> {
    const before = this.log.length;
    this.#child.kill('SIGHUP');
    return await this.line(
      (line) => this.log.indexOf(line) >= before && line['asked'] === 'SIGHUP',
    );
  }

  /**
   * Sends a signal and waits for the end. Returns the exit code, or null when the signal killed the
   * process.
   */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    this.#child.kill(signal);
    return await this.#exit;
  }

  exited(): Promise<number | null> {
    return this.#exit;
  }
}
