import type { Call, Progress } from '../orders/call.ts';
import type { Database } from '../database.ts';
import type { CountedCall, Limits } from './limits.ts';
import { movesMoney, type Operation } from '../orders/operations.ts';

export type LoggedCall = {
  id: number;
  key: number | null;
  operation: Operation;
  arrived_at: number;
  request_counted: number;
  order_counted: number;
  limited: number;
  status: number;
  code: string | null;
  reference: string | null;
  order_number: string | null;
  fault: string | null;
};

/** How many rows past the limit may gather before the oldest are removed, so that not every call pays for it. */
const slack = 1_000;

/** What arrived, what the limiter made of it and what was answered; on disk, so that a restart forgets no limit. */
export class RequestLog {
  readonly #database: Database;
  readonly #insert;
  readonly #prune;
  readonly #keep: number;

  constructor(database: Database, keep: number) {
    this.#database = database;
    this.#keep = keep;
    this.#insert = database.prepare(
      `INSERT INTO calls (key, operation, arrived_at, request_counted, order_counted, limited, status, code, reference,
         order_number, fault) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#prune = database.prepare('DELETE FROM calls WHERE id <= ?');
  }

  add(
    call: Call,
    progress: Progress,
    status: number,
    code: string | null,
    orderNumber: string | null,
    fault: string | null,
  ): void {
    const done = this.#insert.run(
      progress.key?.id ?? null,
      call.operation,
      call.arrivedAt,
      Number(progress.requestCounted),
      Number(progress.orderCounted),
      Number(progress.limited),
      status,
      code,
      progress.purchase?.reference ?? null,
      orderNumber,
      fault,
    );
    const id = Number(done.lastInsertRowid);
    if (id > this.#keep && id % slack === 0) this.#prune.run(id - this.#keep);
  }

  all(): LoggedCall[] {
    return this.#database.prepare<[], LoggedCall>('SELECT * FROM calls ORDER BY id').all();
  }

  /** Fills the limiter with the calls that its windows still look at. */
  refill(limits: Limits, now: number): void {
    const calls = this.#database
      .prepare<[number], LoggedCall>(
        'SELECT * FROM calls WHERE key IS NOT NULL AND arrived_at > ? ORDER BY arrived_at, id',
      )
      .all(now - 2 * limits.settings.window_ms);
    for (const call of calls) {
      if (call.key === null) continue;
      const counted: CountedCall = { ...call, key: call.key, spending: movesMoney(call.operation) };
      limits.replay(counted);
    }
  }
}
