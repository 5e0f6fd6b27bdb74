import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { FolderBench, csvHeader } from './folder-bench.ts';
import { wrappedStore } from '../../support/wrapped-store.ts';

let bench: FolderBench;
beforeEach(async () => {
  bench = new FolderBench();
  await bench.intake.scanOnce();
});
afterEach(() => bench.close());

const good = (index: number) => `o${index},1,gift_card_order,gift-us-25,,,1,,USD\n`;
/** Three batches, with a bad line in each, and a conflict at the end. */
const lines = Array.from({ length: 4800 }, (_, index) =>
  index % 1600 === 7 ? `bad${index},1,gift_card_order,v,,,0,,USD\n` : good(index),
);
const content = `${csvHeader}\n${lines.join('')}o0,1,gift_card_order,gift-us-25,,,9,,USD\n`;

class ProcessDied extends Error {}

/** A store that throws at its n-th call, before the call or right after its commit, as if the process had died. */
function dyingStore(store: Store, call: number, when: 'before' | 'after'): Store {
  let calls = 0;
  return wrappedStore(store, (_name, step) => async (...values) => {
    calls += 1;
    if (calls === call && when === 'before') throw new ProcessDied();
    const result = await step(...values);
    if (calls === call) throw new ProcessDied();
    return result;
  });
}

async function outcome() {
  const report = bench.report();
  const row = await bench.store.intake.files.find(report.file_id);
  return {
    entries: bench.entryCount(),
    left: [...bench.names('inbox'), ...bench.names('work')],
    archived: bench.archived().length,
    reported: report.lines?.map(({ line, code }) => `${line} ${code}`),
    file: [row?.state, row?.acceptedCount, row?.rejectedCount],
  };
}

const everythingOnce = {
  entries: 4797,
  left: [],
  archived: 1,
  reported: ['9 invalid_field', '1609 invalid_field', '3209 invalid_field', '4802 conflict'],
  file: ['archived', 4797, 3],
};

describe('a file of which every line is taken in exactly once although the process died', () => {
  const points = Array.from({ length: 9 }, (_, index) => index + 1).flatMap((call) =>
    (['before', 'after'] as const).map((when) => ({ call, when })),
  );
  it.each(points)('when it died $when call $call of the store', async ({ call, when }) => {
    bench.drop('orders.csv', content);
    const dying = bench.newIntake({}, dyingStore(bench.store, call, when));
    const end = await dying.scanOnce().then(
      () => 'no crash',
      (error: unknown) => error,
    );
    await bench.restart();
    await bench.intake.scanOnce();
    expect(await outcome()).toEqual(everythingOnce);
    // The last call does not exist, so every call was tested.
    expect(end instanceof ProcessDied || call === 9).toBe(true);
  });

  it('when it died after the claim, before the outbox knew the file', async () => {
    await bench.intake.stop();
    writeFileSync(join(bench.config.work, '01HZZZZZZZZZZZZZZZZZZZZZZZ__orders.csv'), content);
    await bench.restart();
    await bench.intake.scanOnce();
    expect(await outcome()).toEqual(everythingOnce);
  });

  it('is moved at the next start when the process died before a rejected file was moved', async () => {
    bench.drop('orders.csv', content.slice(0, -5));
    const dying = bench.newIntake({}, dyingStore(bench.store, 4, 'after'));
    await expect(dying.scanOnce()).rejects.toBeInstanceOf(ProcessDied);
    await bench.restart();
    await bench.intake.scanOnce();
    expect(bench.report().code).toBe('truncated_tail');
    expect(bench.names('rejected')).toHaveLength(2);
    expect([bench.names('work'), bench.entryCount()]).toEqual([[], 0]);
  });

  it('is rejected at the third start when the process died twice while it read the file', async () => {
    bench.drop('orders.csv', content);
    for (const expected of ['ends', 'ends', 'rejected']) {
      const dying = bench.newIntake({}, dyingStore(bench.store, 4, 'before'));
      const end = await dying.scanOnce().then(
        (report) => (report.rejected === 1 ? 'rejected' : 'ingested'),
        () => 'ends',
      );
      // The third start dies at its fourth call, too, but by then the rejection is recorded.
      expect(expected === 'rejected' || end === expected).toBe(true);
      await bench.restart();
    }
    await bench.intake.scanOnce();
    expect(bench.report()).toMatchObject({ code: 'poison_file', next_step: expect.stringContaining('recognised') });
    expect([bench.names('inbox'), bench.names('work')]).toEqual([[], []]);

    // When it is sent again, the lines that were accepted before are recognised.
    const known = bench.entryCount();
    bench.drop('again.csv', content);
    await bench.intake.scanOnce();
    expect([known, bench.entryCount()]).toEqual([1998, 4797]);
  });

  it('is resumed after a stop between two batches, which does not count as a crash', async () => {
    const stopping = bench.newIntake(
      {},
      wrappedStore(bench.store, (name, step) => async (...values) => {
        const result = await step(...values);
        if (name === 'intake.acceptBatch') void stopping.stop();
        return result;
      }),
    );
    bench.drop('orders.csv', content);
    expect(await stopping.scanOnce()).toMatchObject({ ingested: 0 });
    expect(bench.entryCount()).toBeLessThan(4797);
    expect(bench.names('work')).toHaveLength(1);
    await bench.restart();
    await bench.intake.scanOnce();
    expect(await outcome()).toEqual(everythingOnce);
  });
});
