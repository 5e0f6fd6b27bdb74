import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Installation } from '../support/worker-process.ts';

let installation: Installation | null = null;
afterEach(async () => {
  await installation?.close();
  installation = null;
});

const hasStrace = spawnSync('strace', ['-V']).status === 0;
const orders = 12;

/** The system calls of a trace, in order: syncs of the outbox's WAL and calls that buy. */
function eventsIn(trace: string): ('sync' | 'buy')[] {
  return trace.split('\n').flatMap((line): ('sync' | 'buy')[] => {
    if (/\bf(data)?sync\(\d+<[^>]*order-sync\.db-wal>/.test(line)) return ['sync'];
    return line.includes('"POST /orders') ? ['buy'] : [];
  });
}

describe('a power loss', () => {
  it.skipIf(!hasStrace)(
    'finds every reference on disk whose call may have left: the log is synced before each one (needs strace)',
    { timeout: 120_000 },
    async () => {
      installation = await Installation.open({ submit: { concurrency: 1 } });
      // better-sqlite3 lowers the setting when an existing WAL database is opened, not when it is
      // created.
      const first = installation.start();
      await first.started();
      await first.end('SIGTERM');
      const lines = Array.from({ length: orders }, (_, line) => ({
        line_id: String(line),
        type: 'gift_card_order',
        variant: 'steam-usd-5',
        quantity: 1,
      }));
      installation.drop(
        'a.json',
        JSON.stringify({ source: 'shop', order_id: '1', currency: 'USD', lines }),
      );
      const traceFile = join(installation.folder, 'trace');
      const worker = installation.start([
        'strace',
        '-f',
        '-yy',
        '-s',
        '24',
        '-e',
        'trace=fsync,fdatasync,write,writev,sendto,sendmsg',
        '-o',
        traceFile,
      ]);
      await worker.line((line) => line.msg === 'result delivered' && line['state'] === 'completed');
      // strace does not forward signals: the worker gets its own.
      process.kill(
        JSON.parse(readFileSync(join(installation.folder, 'run.json'), 'utf8')).pid,
        'SIGTERM',
      );
      await worker.exited();

      const events = eventsIn(readFileSync(traceFile, 'utf8'));
      const between: number[] = [];
      let syncs = 0;
      for (const event of events) {
        if (event === 'sync') syncs += 1;
        else {
          between.push(syncs);
          syncs = 0;
        }
      }
      expect(between).toHaveLength(orders);
      // Before the first call: the lines with their references, then the attempt. Between two
      // calls: the outcome of the first, then the attempt of the second. With synchronous=NORMAL
      // all of these would be 0.
      expect(between.filter((count) => count < 2)).toEqual([]);
    },
  );
});
