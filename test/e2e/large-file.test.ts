import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { Installation } from '../support/worker-process.ts';

let installation: Installation | null = null;
afterEach(async () => {
  await installation?.close();
  installation = null;
});

const rows = 50_000;

/** The highest resident memory of a process, in MB. */
function peakResidentMb(pid: number): number {
  const line = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? Number.NaN) / 1024;
}

describe('a file of 50,000 lines', () => {
  // Without a flag of Node. From the sources it takes some 30 MB more than from the bundle.
  it('is accepted by the worker within 230 MB of memory while orders of another file are bought', {
    timeout: 150_000,
  }, async () => {
    // 25 orders a second: the small file takes some seconds.
    const limits = { window_ms: 1000, requests: 75, orders: 25, transit_ms: 50 };
    installation = await Installation.open({
      folder: { source: 'large' },
      sandbox: { limits: { enabled: true, window_ms: 1000, requests: 75, orders: 25 } },
      limits,
    });
    const small = Array.from({ length: 400 }, (_, order) =>
      JSON.stringify({
        source: 'small',
        order_id: String(order),
        currency: 'USD',
        lines: [{ line_id: '1', type: 'gift_card_order', variant: 'steam-usd-5', quantity: 1 }],
      }),
    );
    installation.drop('small.ndjson', `${small.join('\n')}\n`);
    const worker = installation.start();
    await worker.line((line) => line['file'] === 'small.ndjson' && line['accepted'] === 400);
    const header = 'source,order_id,line_id,type,variant,plan,iccid,quantity,days,currency';
    const large = Array.from(
      { length: rows },
      (_, row) => `large,${row},1,gift_card_order,steam-usd-5,,,1,,USD`,
    );
    installation.drop('large.csv', [header, ...large, ''].join('\n'));
    const done = await worker.line((line) => line['file'] === 'large.csv');
    expect(done).toMatchObject({ accepted: rows, rejected: 0, conflicts: 0 });
    expect(peakResidentMb(worker.pid)).toBeLessThan(230);

    const [file] = installation.query<{ from: number; to: number }>(
      'SELECT claimed_at_ms AS "from", finished_at_ms AS "to" FROM files WHERE name = \'large.csv\'',
    );
    const meanwhile = installation
      .query<{ at: number }>(
        "SELECT a.opened_at_ms AS at FROM attempts a JOIN entries e ON e.id = a.entry_id WHERE e.lane LIKE 'small|%'",
      )
      .filter(({ at }) => file !== undefined && at > file.from && at < file.to);
    expect(meanwhile.length).toBeGreaterThan(10);
    await worker.end('SIGTERM');
  });
});
