import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { runHere } from '../cli/installation.ts';
import { foreignAnswer } from './foreign-answer.ts';
import { Receiver, takes } from './receiver.ts';
import { sealKey } from './seal-keys.ts';
import { contentsOf, deliveredCodes, filesBelow } from './secret-search.ts';
import { Installation, type WorkerProcess } from './worker-process.ts';

const token = 'token-of-the-shop-for-this-test';
const apiKey = 'sandbox-key-main';
const callbackSecret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
const keys = [sealKey('k1'), sealKey('k2')];
const keySecrets = keys.flatMap(({ value }) => [
  value,
  Buffer.from(value, 'base64').toString('latin1'),
]);
const enteredCode = 'ENTERED-BY-HAND-0042';

export const soldLines: readonly [string, Record<string, unknown>][] = [
  ['cards', { variant: 'steam-usd-5', quantity: 3 }],
  ['delayed', { variant: 'test-delayed', quantity: 2 }],
  ['refused', { variant: 'test-refused', quantity: 1 }],
  ['lost', { variant: 'test-lost-answer', quantity: 1 }],
  ['missing', { variant: 'test-missing-units', quantity: 2 }],
  ['mismatch', { variant: 'test-other-reference', quantity: 1 }],
  ['cut', { variant: 'test-cut-body', quantity: 1 }],
  ['esim', { plan: 'test-plan-fixed', quantity: 1 }],
];

/**
 * An installation that seals, as processes and files. It keeps what was printed, logged and
 * answered, to be searched.
 */
export class SealedRun {
  readonly place: Installation;
  readonly shop: Receiver;
  /** What was printed, logged and answered, by where. */
  readonly said = new Map<string, string>();
  readonly #logs = new Map<string, WorkerProcess>();
  #webhook = '';
  #admin = '';

  private constructor(place: Installation, shop: Receiver) {
    this.place = place;
    this.shop = shop;
  }

  static async open(): Promise<SealedRun> {
    const shop = await Receiver.open(takes);
    const place = await Installation.open({
      callback: { url: shop.url, secrets: [{ value: callbackSecret }] },
      webhook: { tokens: [{ name: 'shop', value: token }] },
      sandbox: { faults: [foreignAnswer] },
    });
    mkdirSync(join(place.folder, 'secrets'));
    for (const { id, value } of keys)
      writeFileSync(join(place.folder, 'secrets', id), `${value}\n`, { mode: 0o600 });
    const run = new SealedRun(place, shop);
    run.sealWith('k1');
    place.configure((config) => {
      config.log = { level: 'trace' };
    });
    return run;
  }

  sealWith(...ids: string[]): void {
    this.place.configure((config) => {
      config.seal = {
        keys: ids.map((id) => ({ id, value: `file:${join(this.place.folder, 'secrets', id)}` })),
      };
    });
  }

  async start(): Promise<WorkerProcess> {
    const worker = this.place.start();
    const started = await worker.started();
    this.#logs.set(`worker ${this.#logs.size + 1}`, worker);
    this.#webhook = String(started['webhook']);
    this.#admin = String(started['admin']);
    return worker;
  }

  async cli(...argv: string[]): Promise<string> {
    const { code, stdout, stderr } = await runHere(
      [...argv, '--config', this.place.configFile],
      new SystemClock(),
    );
    this.said.set(argv.join(' '), `${stdout}${stderr}`);
    if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}: ${stderr}`);
    return stdout;
  }

  async health(): Promise<Record<string, unknown>> {
    const text = await (await fetch(`http://${this.#admin}/healthz`)).text();
    this.said.set('/healthz', text);
    return JSON.parse(text);
  }

  /** Reads an order as its shop does: the answer is a delivery. */
  async read(orderId: string): Promise<string> {
    const answer = await fetch(`http://${this.#webhook}/v1/orders/shop/${orderId}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return await answer.text();
  }

  stateOf(orderId: string): { reference: string; state: string } | undefined {
    const sql = `SELECT reference, state FROM outbox WHERE order_id = '${orderId}'`;
    return this.place.query<{ reference: string; state: string }>(sql)[0];
  }

  async until(holds: () => boolean, what: string): Promise<void> {
    const deadline = performance.now() + 30_000;
    while (!holds()) {
      if (performance.now() > deadline) throw new Error(`${what} never came`);
      await delay(20);
    }
  }

  /**
   * Buys one order of each kind, some of which need an operator, and has an operator enter what is
   * missing.
   */
  async buyEverything(): Promise<void> {
    const orders = soldLines.map(([id, line]) => ({
      source: 'shop',
      order_id: id,
      currency: 'USD',
      lines: [{ line_id: '1', type: 'plan' in line ? 'esim_order' : 'gift_card_order', ...line }],
    }));
    const [first, ...others] = orders;
    this.place.drop('orders.ndjson', others.map((order) => `${JSON.stringify(order)}\n`).join(''));
    const posted = await fetch(`http://${this.#webhook}/v1/orders`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(first),
    });
    if (posted.status !== 202) throw new Error(`the order was answered ${posted.status}`);
    const ended = ['fulfilled', 'rejected', 'needs_review'];
    await this.until(
      () => soldLines.every(([id]) => ended.includes(this.stateOf(id)?.state ?? '')),
      'the end of all orders',
    );
    const inReview = soldLines
      .map(([id]) => this.stateOf(id))
      .filter((entry) => entry?.state === 'needs_review');
    if (inReview.length !== 1) throw new Error(`one order needs review, not ${inReview.length}`);
    const file = join(this.place.folder, 'secrets', 'units.txt');
    writeFileSync(file, `${enteredCode}\n`, { mode: 0o600 });
    const decision = [
      '--as',
      'fulfilled',
      '--units',
      file,
      '--note',
      'seen at the supplier',
      '--reason',
      'seen',
    ];
    await this.cli('orders', 'resolve', inReview[0]?.reference ?? '', ...decision);
  }

  /**
   * Everything that is searched: logs, answers, command output, and all files but the exempt ones.
   */
  places(): Map<string, string | Buffer> {
    const { folder } = this.place;
    const isExempt = (path: string): boolean =>
      /^(results\/[^.]+\/[^.][^/]*\.json|secrets\/|sandbox\.db|worker\.yaml)/.test(
        path.slice(folder.length + 1),
      );
    const files = contentsOf(filesBelow(folder).filter((path) => !isExempt(path)));
    const logs = [...this.#logs].map(([name, worker]): [string, string] => [
      name,
      `${worker.log.map((line) => JSON.stringify(line)).join('\n')}${worker.stderr}`,
    ]);
    return new Map<string, string | Buffer>([...files, ...logs, ...this.said]);
  }

  codes(): readonly string[] {
    return [...deliveredCodes(this.place), enteredCode];
  }

  /** Every code and every key. */
  secrets(): readonly string[] {
    return [...this.codes(), ...keySecrets, token, apiKey, callbackSecret];
  }

  async close(): Promise<void> {
    await this.place.close();
    await this.shop.close();
  }
}
