import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { House } from '../support/worker-process.ts';

let house: House | null = null;
afterEach(async () => {
  await house?.close();
  house = null;
});

const rows = 50_000;

/** The most memory that a process has had resident at once, in MB. */
function peakResidentMb(pid: number): number {
  const line = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? Number.NaN) / 1024;
}

describe('a file of 50,000 lines', () => {
  it('is taken in by the whole worker within 200 MB, while orders of another file are bought', {
    timeout: 150_000,
  }, async () => {
    // 25 orders a second: the small file alone would take some seconds.
    const limits = { window_ms: 1000, requests: 75, orders: 25, transit_ms: 50 };
    house = await House.open({
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
    house.drop('small.ndjson', `${small.join('\n')}\n`);
    const worker = house.start();
    await worker.line((line) => line['file'] === 'small.ndjson' && line['accepted'] === 400);
    const header = 'source,order_id,line_id,type,variant,plan,iccid,quantity,days,currency';
    const large = Array.from({ length: rows }, (_, row) => `large,${row},1,gift_card_order,steam-usd-5,,,1,,USD`);
    house.drop('large.csv', [header, ...large, ''].join('\n'));
    const done = await worker.line((line) => line['file'] === 'large.csv');
    expect(done).toMatchObject({ accepted: rows, rejected: 0, conflicts: 0 });
    expect(peakResidentMb(worker.pid)).toBeLessThan(200);

    const [file] = house.query<{ from: number; to: number }>(
      'SELECT claimed_at_ms AS "from", finished_at_ms AS "to" FROM files WHERE name = \'large.csv\'',
    );
    const meanwhile = house
      .query<{ at: number }>(
        "SELECT a.opened_at_ms AS at FROM attempts a JOIN entries e ON e.id = a.entry_id WHERE e.lane LIKE 'small|%'",
      )
      .filter(({ at }) => file !== undefined && at > file.from && at < file.to);
    expect(meanwhile.length).toBeGreaterThan(10);
    await worker.end('SIGTERM');
  });
});
