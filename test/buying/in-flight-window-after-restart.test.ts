import { stepsOf } from '../support/steps.ts';
import SqliteDatabase from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { startSubmission, type Submission } from '../support/submission.ts';

let open: Submission | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

interface Row {
  readonly state: string;
  readonly due_at_ms: number;
  readonly in_flight_window_end_mono: number | null;
  readonly lookups: number;
}

function rowOf(worker: Submission, reference: string): Row | undefined {
  const database = new SqliteDatabase(worker.databasePath, { readonly: true });
  try {
    return database
      .prepare<[string], Row>(
        `SELECT state, due_at_ms, in_flight_window_end_mono, (SELECT count(*) FROM attempts a
           WHERE a.entry_id = e.id AND a.purpose = 'lookup' AND a.closed_at_ms IS NOT NULL) AS lookups
         FROM entries e WHERE reference = ?`,
      )
      .get(reference);
  } finally {
    database.close();
  }
}

const inFlightWindowMs = 600_000;
const match = { operation: 'gift_card_order' } as const;
const refusal = '{"error":{"code":"order_refused","message":"not today"}}';

describe('the in-flight window of an unknown outcome, after a restart of the machine,', () => {
  it('begins again, and a rejection is not believed before its end', async () => {
    open = await startSubmission({
      sandbox: {
        limits: { enabled: false },
        faults: [
          { fault: { fault: 'reset', when: 'before' }, match, at: [2] },
          {
            fault: { fault: 'answer', status: 422, body: refusal, when: 'before' },
            match,
            at: [3],
          },
        ],
      },
      inFlightWindowMs,
    });
    const worker = open;
    // An order that a lookup finds: from then on an absence proves something.
    await worker.accept([{}]);
    await worker.until(async () => (await stepsOf(worker.store).lookups.proven()).length > 0);
    const [reference = ''] = await worker.accept([{}]);
    // Its first call may have arrived, so the rejection of the second waits for the end of the
    // in-flight window.
    await worker.until(
      () => (rowOf(worker, reference)?.due_at_ms ?? 0) > Date.now() + inFlightWindowMs / 2,
    );
    await worker.dispatcher.stop();
    const before = rowOf(worker, reference);
    expect(before).toMatchObject({ state: 'unknown', lookups: 2 });
    // The machine had been up for a moment only, so the recorded end is behind the clock of this
    // run; a lookup is due.
    const database = new SqliteDatabase(worker.databasePath);
    database
      .prepare(
        "UPDATE entries SET in_flight_window_end_mono = 1, in_flight_window_boot_id = 'another run', due_at_ms = 1 WHERE reference = ?",
      )
      .run(reference);
    database.close();
    await worker.restart();
    await worker.until(() => rowOf(worker, reference)?.lookups !== before?.lookups);
    expect(rowOf(worker, reference)).toMatchObject({ state: 'unknown', lookups: 3 });
    expect(worker.counts()).toMatchObject({ fulfilled: 1, rejected: 0 });
    // Once and for all: the stamp is of this run now.
    expect(rowOf(worker, reference)?.in_flight_window_end_mono).toBeGreaterThan(
      before?.in_flight_window_end_mono ?? Infinity,
    );
  });
});
