import type { Database } from '../database.ts';
import type { RequestLogSettings } from '../config.ts';
import { type Answer, textOf } from '../http/answers.ts';
import type { Call, Progress } from '../orders/call.ts';
import { withoutKeys } from './key-mask.ts';
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
const pruneBodiesEvery = 50;
const maxPathChars = 1_000;

/**
 * The calls that arrived, how the limits counted them and how they were answered: a restart restores the limits from it.
 * Of the latest ones also what was sent and answered, without keys.
 * @internal
 */
export class RequestLog {
  readonly #database: Database;
  readonly #settings: RequestLogSettings;
  readonly #knownKeys: readonly string[];
  readonly #insert;
  readonly #prune;
  readonly #insertExchange;
  readonly #pruneExchanges;

  /** @param knownKeys the values of keys that must not be in the log, besides that of the caller */
  constructor(database: Database, settings: RequestLogSettings, knownKeys: readonly string[]) {
    this.#database = database;
    this.#settings = settings;
    this.#knownKeys = knownKeys;
    this.#insertExchange = database.prepare('INSERT INTO exchanges VALUES (?, ?, ?, ?, ?, ?)');
    this.#pruneExchanges = database.prepare('DELETE FROM exchanges WHERE call <= ?');
    this.#insert = database.prepare(
      `INSERT INTO calls (key, operation, arrived_at, request_counted, order_counted, limited, status, code, reference,
         order_number, fault) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#prune = database.prepare('DELETE FROM calls WHERE id <= ?');
  }

  /** Logs a call and its answer, and returns the number of its row. Status 0: no answer. */
  add(call: Call, progress: Progress, answer: Answer, fault: string | null): number {
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
    const { calls, bodies } = this.#settings;
    if (id > calls && id % pruneEvery === 0) this.#prune.run(id - calls);
    if (bodies > 0) {
      this.#addExchange(id, call, answer);
      if (id > bodies && id % pruneBodiesEvery === 0) this.#pruneExchanges.run(id - bodies);
    }
    return id;
  }

  #addExchange(id: number, call: Call, answer: Answer): void {
    const keys = call.token === undefined ? this.#knownKeys : [...this.#knownKeys, call.token];
    // Masked before it is cut: the beginning of a key must not be left at the cut.
    const logged = (text: string, maxChars: number): string => cut(withoutKeys(text, keys), maxChars);
    const { body_chars: bodyChars } = this.#settings;
    this.#insertExchange.run(
      id,
      call.method,
      logged(call.path, maxPathChars),
      call.address,
      logged(call.body.text, bodyChars),
      logged(textOf(answer), bodyChars),
    );
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

function cut(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars)}… (${text.length - maxChars} more characters)`;
}
