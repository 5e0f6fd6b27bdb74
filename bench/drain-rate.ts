import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { Client } from 'undici';
import { withFolder } from './support/folder.ts';
import { giftCardLine, openSubmission } from './support/submission.ts';
import { median, type Row } from './support/row.ts';
import { keyValueOf, richAccount, startSandbox } from './support/sandbox.ts';

const orders = 1500;
const rounds = 3;
/** The default of the worker. */
const concurrency = 8;
/** The orders a second that the API allows for five keys (Spec 8). */
const allowed = 100 / 60;

type Durability = 'FULL' | 'NORMAL';

/**
 * The store sets synchronous=FULL and checks it. To measure its cost, the bench replaces it by
 * NORMAL from outside. With NORMAL, a power failure could lose the record of a sent order.
 */
let durability: Durability = 'FULL';
// oxlint-disable-next-line typescript/unbound-method -- it is called with its own `this` below
const pragma = SqliteDatabase.prototype.pragma;
SqliteDatabase.prototype.pragma = function pretended(this: SqliteDatabase.Database, ...given) {
  if (durability === 'NORMAL' && given[0] === 'synchronous = FULL') {
    return pragma.call(this, 'synchronous = NORMAL');
  }
  if (durability === 'NORMAL' && given[0] === 'synchronous') return 2;
  return pragma.apply(this, given);
};

/** Takes `orders` orders from acceptance to result. Returns the time for all, in ms. */
async function drain(folder: string, url: string, name: string): Promise<number> {
  mkdirSync(folder);
  const { promise: done, resolve } = Promise.withResolvers<void>();
  let left = orders;
  const submission = await openSubmission({
    folder,
    url,
    keyValue: keyValueOf('drain'),
    concurrency,
    onSettled: () => {
      left -= 1;
      if (left === 0) resolve();
    },
  });
  const lines = Array.from({ length: orders }, (_, index) => giftCardLine(`${name} ${index}`));
  await submission.store.intake.acceptBatch({
    nowMs: Date.now(),
    fileId: null,
    rejections: [],
    lines,
  });
  const started = performance.now();
  await submission.dispatcher.start();
  await Promise.race([done, submission.dispatcher.failed]);
  const elapsed = performance.now() - started;
  const { fulfilled } = submission.store.read.counts();
  await submission.close();
  if (fulfilled !== orders) throw new Error(`${fulfilled} of ${orders} orders were fulfilled`);
  return elapsed;
}

/** The same calls without a store: the limit of the server and the connections. */
async function bare(url: string, name: string): Promise<number> {
  let next = 0;
  const started = performance.now();
  const one = async (): Promise<void> => {
    while (next < orders) {
      next += 1;
      const client = new Client(url, { pipelining: 0 });
      const { body, statusCode } = await client.request({
        path: '/orders',
        method: 'POST',
        headers: {
          authorization: `Bearer ${keyValueOf('drain')}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({
          reference: `${name}-${next}`,
          variant: 'steam-usd-5',
          quantity: 1,
          currency: 'USD',
        }),
      });
      await body.dump();
      await client.destroy();
      if (statusCode !== 201) throw new Error(`an order was answered with ${statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, one));
  return performance.now() - started;
}

export async function measure(): Promise<readonly Row[]> {
  return await withFolder(async (folder) => {
    const sandbox = await startSandbox(folder, {
      limits: { enabled: false },
      accounts: [richAccount('drain')],
    });
    const full: number[] = [];
    const normal: number[] = [];
    const bareMs: number[] = [];
    try {
      for (let round = 0; round < rounds; round += 1) {
        bareMs.push(await bare(sandbox.url, `bare-${round}`));
        for (const [setting, found] of [
          ['FULL', full],
          ['NORMAL', normal],
        ] as const) {
          durability = setting;
          found.push(
            await drain(join(folder, `${setting}-${round}`), sandbox.url, `${setting} ${round}`),
          );
        }
      }
    } finally {
      durability = 'FULL';
      await sandbox.close();
    }
    const rate = (ms: readonly number[]): number => (orders / median(ms)) * 1000;
    const against = (ms: readonly number[]): string =>
      median(full.map((own, round) => (ms[round] ?? Number.NaN) / own)).toFixed(2);
    return [
      row(
        `${orders} orders through the whole submission, FULL, ${concurrency} at once, median of ${rounds}`,
        `${Math.round(rate(full))} orders/s`,
        `${Math.round(rate(full) / allowed)} x what five keys allow`,
      ),
      row(
        'the same with synchronous=NORMAL',
        `${Math.round(rate(normal))} orders/s`,
        `FULL: ${against(normal)} of it`,
      ),
      row(
        'bare calls, nothing written down',
        `${Math.round(rate(bareMs))} orders/s`,
        `FULL: ${against(bareMs)} of it`,
      ),
    ];
  });
}

function row(what: string, result: string, ratio: string): Row {
  return { bench: 'drain-rate', what, result, ratio, goal: '' };
}
