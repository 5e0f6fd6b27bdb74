import type { Database } from '../database.ts';
import type { Answer } from '../http/answers.ts';
import type { Call, Progress } from '../orders/call.ts';
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

/** The oldest rows are deleted once for so many new ones, which is cheaper than at each call. */
const pruneEvery = 1_000;

/** The calls that arrived, how the limits counted them and how they were answered. A restart restores the limits from it. */
export class RequestLog {
  readonly #database: Database;
  readonly #insert;
  readonly #prune;
  readonly #keep: number;

  /** `keep` is how many rows are kept. */
  constructor(database: Database, keep: number) {
    this.#database = database;
    this.#keep = keep;
    this.#insert = database.prepare(
      `INSERT INTO calls (key, operation, arrived_at, request_counted, order_counted, limited, status, code, reference,
         order_number, fault) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#prune = database.prepare('DELETE FROM calls WHERE id <= ?');
  }

  /** Logs a call and its answer. Status 0: no answer. */
  add(
    call: Call,
    progress: Progress,
    answer: Pick<Answer, 'status' | 'code' | 'orderNumber'>,
    fault: string | null,
  ): void {
    const { lastInsertRowid } = this.#insert.run(
      progress.key?.id ?? null,
      call.operation,
      call.arrivedAt,
      Number(progress.letIn === true),
      Number(progress.letIn === true && movesMoney(call.operation)),
      Number(progress.letIn === false),
      answer.status,
      answer.code ?? null,
      progress.purchase?.reference ?? null,
      answer.orderNumber ?? null,
      fault,
    );
    const id = Number(lastInsertRowid);
    if (id > this.#keep && id % pruneEvery === 0) this.#prune.run(id - this.#keep);
  }

  all(): LoggedCall[] {
    return this.#database.prepare<[], LoggedCall>('SELECT * FROM calls ORDER BY id').all();
  }

  /** The calls that arrived after this time, in milliseconds since the epoch, in the order of their arrival. */
  since(time: number): LoggedCall[] {
    return this.#database
      .prepare<[number], LoggedCall>('SELECT * FROM calls WHERE arrived_at > ? ORDER BY arrived_at, id')
      .all(time);
  }
}
