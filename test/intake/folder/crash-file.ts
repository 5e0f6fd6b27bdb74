import { expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { wrappedStore } from '../../support/wrapped-store.ts';
import { csvHeader, type FolderBench } from './folder-bench.ts';

export class ProcessDied extends Error {}

/**
 * A store that throws at its n-th call, before the call or right after its commit, as if the
 * process had died.
 */
export function dyingStore(store: Store, call: number, when: 'before' | 'after'): Store {
  let calls = 0;
  return wrappedStore(store, (_name, step) => async (...values) => {
    calls += 1;
    if (calls === call && when === 'before') throw new ProcessDied();
    const result = await step(...values);
    if (calls === call) throw new ProcessDied();
    return result;
  });
}

/**
 * A file with three bad lines, at equal distances, and a conflict at the end; `lines` before that.
 */
export class CrashFile {
  readonly #lines: number;
  readonly content: string;

  constructor(lines: number) {
    this.#lines = lines;
    const isBad = (index: number) => index % (lines / 3) === 7;
    const good = (index: number) => `o${index},1,gift_card_order,gift-us-25,,,1,,USD\n`;
    const bad = (index: number) => `bad${index},1,gift_card_order,v,,,0,,USD\n`;
    const all = Array.from({ length: lines }, (_, index) =>
      isBad(index) ? bad(index) : good(index),
    );
    this.content = `${csvHeader}\n${all.join('')}o0,1,gift_card_order,gift-us-25,,,9,,USD\n`;
  }

  get entries(): number {
    return this.#lines - 3;
  }

  /** The outcome when every line was taken in exactly once. */
  get everythingOnce() {
    const reported = [0, 1, 2].map((third) => `${9 + (third * this.#lines) / 3} invalid_field`);
    return {
      entries: this.entries,
      left: [],
      archived: 1,
      reported: [...reported, `${this.#lines + 2} conflict`],
      file: ['archived', this.entries, 3],
    };
  }
}

export async function outcome(bench: FolderBench) {
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

/**
 * A death before and after each call of the store that a file needs; `calls` is one more than there
 * are.
 */
export function diesAtEachCall(file: CrashFile, calls: number, running: () => FolderBench): void {
  const points = Array.from({ length: calls }, (_, index) => index + 1).flatMap((call) =>
    (['before', 'after'] as const).map((when) => ({ call, when })),
  );
  it.each(points)('when it died $when call $call of the store', async ({ call, when }) => {
    const bench = running();
    bench.drop('orders.csv', file.content);
    const dying = bench.newIntake({}, dyingStore(bench.store, call, when));
    const end = await dying.scanOnce().then(
      () => 'no crash',
      (error: unknown) => error,
    );
    await bench.restart();
    await bench.intake.scanOnce();
    expect(await outcome(bench)).toEqual(file.everythingOnce);
    // The last call does not exist, so every call was tested.
    expect(end instanceof ProcessDied).toBe(call < calls);
  });
}
