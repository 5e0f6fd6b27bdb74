import { subscribe } from 'node:diagnostics_channel';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { Client } from 'undici';
import { withFolder } from './support/folder.ts';
import { giftCardLine, openSubmission } from './support/submission.ts';
import { goal, quantile, type Row } from './support/row.ts';
import { keyValueOf, richAccount, startSandbox } from './support/sandbox.ts';

const samples = 400;
const goalMs = 15;

/** The minimum for any worker: two synced commits and a new connection. */
async function bareCall(
  url: string,
  insert: () => void,
  nextSend: () => Promise<number>,
): Promise<number> {
  const started = performance.now();
  insert();
  insert();
  const client = new Client(url, { pipelining: 0 });
  const sent = nextSend();
  const { body } = await client.request({
    path: '/balances',
    method: 'GET',
    headers: { authorization: `Bearer ${keyValueOf('sends')}` },
  });
  await body.dump();
  await client.destroy();
  return (await sent) - started;
}

const nothing = (): void => undefined;

export async function measure(): Promise<readonly Row[]> {
  let onSend: (at: number) => void = nothing;
  // undici publishes this in the same event loop turn in which it writes the first byte to the
  // socket.
  subscribe('undici:client:sendHeaders', () => onSend(performance.now()));
  const nextSend = (): Promise<number> =>
    new Promise((resolve) => {
      onSend = resolve;
    });
  return await withFolder(async (folder) => {
    const sandbox = await startSandbox(folder, {
      limits: { enabled: false },
      accounts: [richAccount('sends')],
    });
    let settled: () => void = nothing;
    const submission = await openSubmission({
      folder,
      url: sandbox.url,
      keyValue: keyValueOf('sends'),
      onSettled: () => settled(),
    });
    await submission.dispatcher.start();
    const bareStore = new SqliteDatabase(join(folder, 'bare.db'));
    bareStore.pragma('journal_mode = WAL');
    bareStore.pragma('synchronous = FULL');
    bareStore.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)');
    const insert = bareStore.prepare("INSERT INTO rows (text) VALUES ('one order')");
    const fromHandIn: number[] = [];
    const fromAccepted: number[] = [];
    const bare: number[] = [];
    try {
      for (let sample = -20; sample < samples; sample += 1) {
        const { promise: done, resolve } = Promise.withResolvers<void>();
        settled = resolve;
        const sent = nextSend();
        const handedIn = performance.now();
        await submission.store.intake.acceptBatch({
          nowMs: Date.now(),
          fileId: null,
          rejections: [],
          lines: [giftCardLine(`order ${sample}`)],
        });
        const accepted = performance.now();
        submission.dispatcher.notify();
        const at = await sent;
        await done;
        // A random pause: the samples must not follow a timer of the worker.
        await delay(2 + Math.random() * 10);
        const bareMs = await bareCall(sandbox.url, () => insert.run(), nextSend);
        await delay(2 + Math.random() * 10);
        // The first samples only warm up the compiler.
        if (sample < 0) continue;
        fromHandIn.push(at - handedIn);
        fromAccepted.push(at - accepted);
        bare.push(bareMs);
      }
    } finally {
      await submission.close();
      bareStore.close();
      await sandbox.close();
    }
    const p99 = quantile(fromAccepted, 0.99);
    return [
      rowOf(
        `accepted (on disk) to first byte, ${samples} orders`,
        fromAccepted,
        bare,
        goal(`p99 ${goalMs} ms`, p99 <= goalMs),
      ),
      rowOf('handed in (before the commit) to first byte', fromHandIn, bare, ''),
      rowOf('bare: two synced commits and a fresh connection to first byte', bare, bare, ''),
    ];
  });
}

function rowOf(
  what: string,
  found: readonly number[],
  bare: readonly number[],
  goalText: string,
): Row {
  const at = (share: number): string => `p${share * 100} ${quantile(found, share).toFixed(1)} ms`;
  return {
    bench: 'accept-to-send',
    what,
    result: `${at(0.5)}, ${at(0.99)}`,
    ratio: `${(quantile(found, 0.5) / quantile(bare, 0.5)).toFixed(1)} x bare at p50, ${(quantile(found, 0.99) / quantile(bare, 0.99)).toFixed(1)} x at p99`,
    goal: goalText,
  };
}
