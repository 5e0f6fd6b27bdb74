import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';

const projectRoot = resolve(import.meta.dirname, '../..');

interface WorkerOptions {
  /** The worker keeps everything inside. */
  readonly folder: string;
  readonly url: string;
  readonly keyValue: string;
  readonly limits: { window_ms: number; requests: number; orders: number; transit_ms: number };
  readonly submit?: Record<string, number>;
  readonly timeScale?: number;
}

/** A worker that is started by its own command, with its own folder. */
export class WorkerFolder {
  readonly #options: WorkerOptions;
  readonly #config: object;
  readonly configFile: string;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.configFile = join(options.folder, 'worker.yaml');
    mkdirSync(join(options.folder, 'inbox'), { recursive: true });
    const { requests, orders, ...window } = options.limits;
    const config = {
      instance: 'bench',
      data_dir: options.folder,
      init: 'if-missing',
      intake: {
        folders: [{ name: 'folder', source: ['folder', 'big', 'second', 'small', 'tiny'] }],
      },
      wholesale: {
        environment: 'sandbox',
        base_url: options.url,
        keys: [{ name: 'main', value: options.keyValue }],
        limits: { requests, orders },
      },
      submit: options.submit ?? {},
      trial: { time_scale: options.timeScale ?? 0.05, ...window },
      admin: { listen: '127.0.0.1:0' },
    };
    this.#config = config;
    writeFileSync(this.configFile, stringify(config));
  }

  /** As a worker that is started from now on has them. */
  limitSpending(limits: readonly object[]): void {
    writeFileSync(this.configFile, stringify({ ...this.#config, spend: { limits } }));
  }

  get databasePath(): string {
    return join(this.#options.folder, 'order-sync.db');
  }

  drop(name: string, text: string): void {
    const draft = join(this.#options.folder, `${name}.draft`);
    writeFileSync(draft, text);
    renameSync(draft, join(this.#options.folder, 'inbox', name));
  }

  /** `wrapper`: a command that runs it, such as strace. */
  start(nodeOptions: readonly string[] = [], wrapper: readonly string[] = []): ChildProcess {
    const own = [...nodeOptions, 'bin/order-sync.js', 'run', '--config', this.configFile];
    const [command = '', ...args] = [...wrapper, process.execPath, ...own];
    return spawn(command, args, {
      cwd: projectRoot,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
  }
}

export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

/** A CSV file like the export of a shop: each row is an order. */
export function csvOf(count: number, prefix: string): string {
  const rows = Array.from(
    { length: count },
    (_, index) => `${prefix}-${index},1,gift_card_order,steam-usd-5,,,1,,USD`,
  );
  return `order_id,line_id,type,variant,plan,iccid,quantity,days,currency\n${rows.join('\n')}\n`;
}
