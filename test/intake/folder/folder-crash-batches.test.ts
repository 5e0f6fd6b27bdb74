import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { wrappedStore } from '../../support/wrapped-store.ts';
import { CrashFile, diesAtEachCall, dyingStore, outcome, ProcessDied } from './crash-file.ts';
import { FolderBench } from './folder-bench.ts';

let bench: FolderBench;
beforeEach(async () => {
  bench = new FolderBench();
  await bench.intake.scanOnce();
});
afterEach(() => bench.close());

/** Three batches, with a bad line in each. */
const file = new CrashFile(4800);

describe('a file of several batches of which every line is taken in exactly once although the process died', () => {
  diesAtEachCall(file, 9, () => bench);

  it('when it died after the claim, before the outbox knew the file', async () => {
    await bench.intake.stop();
    writeFileSync(join(bench.config.work, '01HZZZZZZZZZZZZZZZZZZZZZZZ__orders.csv'), file.content);
    await bench.restart();
    await bench.intake.scanOnce();
    expect(await outcome(bench)).toEqual(file.everythingOnce);
  });

  it('is moved at the next start when the process died before a rejected file was moved', async () => {
    bench.drop('orders.csv', file.content.slice(0, -5));
    const dying = bench.newIntake({}, dyingStore(bench.store, 4, 'after'));
    await expect(dying.scanOnce()).rejects.toBeInstanceOf(ProcessDied);
    await bench.restart();
    await bench.intake.scanOnce();
    expect(bench.report().code).toBe('truncated_tail');
    expect(bench.names('rejected')).toHaveLength(2);
    expect([bench.names('work'), bench.entryCount()]).toEqual([[], 0]);
  });

  it('is rejected at the third start when the process died twice while it read the file', async () => {
    bench.drop('orders.csv', file.content);
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
    expect(bench.report()).toMatchObject({
      code: 'poison_file',
      next_step: expect.stringContaining('sent again are not bought twice'),
    });
    expect([bench.names('inbox'), bench.names('work')]).toEqual([[], []]);

    // When it is sent again, the lines that were accepted before are recognised.
    const known = bench.entryCount();
    bench.drop('again.csv', file.content);
    await bench.intake.scanOnce();
    expect([known, bench.entryCount()]).toEqual([1998, file.entries]);
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
    bench.drop('orders.csv', file.content);
    expect(await stopping.scanOnce()).toMatchObject({ ingested: 0 });
    expect(bench.entryCount()).toBeLessThan(file.entries);
    expect(bench.names('work')).toHaveLength(1);
    await bench.restart();
    await bench.intake.scanOnce();
    expect(await outcome(bench)).toEqual(file.everythingOnce);
  });
});
