import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { csvHeader, FolderBench } from './folder-bench.ts';

/** `MANY_FILES=10000` takes minutes where each commit waits for a real disk. */
const many = Number(process.env['MANY_FILES'] ?? 300);

let bench: FolderBench;
afterEach(() => bench.close());

it(`${many} files that are dropped at once are each taken once`, {
  timeout: 60_000 + many * 200,
}, async () => {
  bench = new FolderBench();
  await bench.intake.scanOnce();
  const names = Array.from({ length: many }, (_, index) => `${String(index).padStart(6, '0')}.csv`);
  for (const name of names) {
    const row = `o-${name},1,gift_card_order,gift-us-25,,,1,,USD`;
    writeFileSync(join(bench.config.inbox, name), `${csvHeader}\n${row}\n`);
  }
  let taken = 0;
  for (let scans = 0; taken < many && scans <= many; scans += 1)
    taken += (await bench.intake.scanOnce()).ingested;
  expect([
    taken,
    bench.entryCount(),
    bench.names('inbox').length,
    bench.names('work').length,
  ]).toEqual([many, many, 0, 0]);
  const archived = bench.archived().map((name) => name.replace(/^[^_]*__/, ''));
  expect(archived.toSorted()).toEqual(names);
});

it('a file of just under 64 MiB is taken in completely', { timeout: 120_000 }, async () => {
  bench = new FolderBench();
  await bench.intake.scanOnce();
  const note = 'n'.repeat(1290);
  const rows = Array.from(
    { length: 50_000 },
    (_, index) => `o${index},1,gift_card_order,gift-us-25,,,1,,USD,${note}\n`,
  );
  const content = `${csvHeader},note\n${rows.join('')}`;
  expect(content.length).toBeGreaterThan(63 * 1024 * 1024);
  expect(content.length).toBeLessThanOrEqual(64 * 1024 * 1024);
  bench.drop('large.csv', content);
  expect(await bench.intake.scanOnce()).toMatchObject({ ingested: 1, rejected: 0 });
  expect(bench.entryCount()).toBe(50_000);
});
