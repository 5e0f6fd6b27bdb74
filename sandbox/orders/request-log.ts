import * as z from 'zod';
import type { CountedCall } from '../limits/limits.ts';
import type { SandboxSettings } from '../settings/config.ts';
import type { Database } from '../storage/database.ts';
import { isoTime } from '../values/clock.ts';
import { movesMoney, type Operation } from '../values/operations.ts';
import type { Answer, Call, Progress } from './call.ts';

/** How a call was answered, and what it was about. */
type Facts = {
  operation: Operation;
  /** 0: no answer, or later. */
  status: number;
  code: string | null;
  reference: string | null;
  order_number: string | null;
  fault: string | null;
};

export type LoggedCall = Facts & CountedCall & { id: number };

/** The oldest rows are deleted once for so many new ones, which is cheaper than at each call. */
const pruneEvery = 1_000;

const requestId = z
  .string()
  .regex(/^(req-)?\d{1,15}$/, 'the Request-Id of an answer, such as req-17')
  .transform((text) => Number(text.replace('req-', '')));

/** Which requests to show, as the parameters of an address. An empty one counts as left out. */
export const requestFilterSchema = z.strictObject({
  /** A reference, an order number, or the name of a key. */
  search: z.string().max(200).default(''),
  account: z.string().max(40).default(''),
  /** Only those that were answered with an error, or not at all, or that met a fault. */
  failed: z.enum(['', 'true', 'false']).default(''),
  /** Only those that are older than this one. */
  before: z.union([z.literal(''), requestId]).default(''),
  limit: z.coerce.number().int().min(1).max(500).default(50),
});

export type RequestFilter = z.output<typeof requestFilterSchema>;

export type LoggedRequest = Facts & {
  /** The `Request-Id` of its answer. */
  id: string;
  at: string;
  /** Whose key it had; null: none, or an unknown one. */
  account: string | null;
  key: string | null;
};

export type RequestPage = {
  requests: LoggedRequest[];
  /** For `before`, to read on; null on the last page. */
  next_before: string | null;
};

type Row = Omit<LoggedRequest, 'id' | 'at'> & { id: number; at: number };

const select = `SELECT calls.id, calls.arrived_at AS at, keys.account, keys.name AS key, operation, status, code, reference,
    order_number, fault
  FROM calls LEFT JOIN keys ON keys.id = calls.key`;

/**
 * The calls that arrived, how the limits counted them and how they were answered: a restart
 * restores the limits from it.
 * @internal
 */
export class RequestLog {
  readonly #database: Database;
  readonly #most: number;

  constructor(database: Database, { logged_calls: most }: SandboxSettings) {
    this.#database = database;
    this.#most = most;
  }

  add(
    call: Call,
    { key, letIn, purchase }: Progress,
    answer: Answer,
    fault: string | null,
  ): number {
    const { operation, arrivedAt } = call;
    const counted = [letIn === true, letIn === true && movesMoney(operation), letIn === false].map(
      Number,
    );
    const about = [purchase?.reference, answer.orderNumber];
    const { lastInsertRowid } = this.#database.run(
      `INSERT INTO calls (key, operation, arrived_at, request_counted, order_counted, limited, status, code, reference,
         order_number, fault) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [key?.id, operation, arrivedAt, ...counted, answer.status, answer.code, ...about, fault],
    );
    const id = Number(lastInsertRowid);
    if (id > this.#most && id % pruneEvery === 0)
      this.#database.run('DELETE FROM calls WHERE id <= ?', id - this.#most);
    return id;
  }

  all(): LoggedCall[] {
    return this.#database.all('SELECT * FROM calls ORDER BY id');
  }

  /**
   * The calls that arrived after this time, in milliseconds since the epoch, in the order of their
   * arrival.
   */
  since(time: number): LoggedCall[] {
    return this.#database.all(
      'SELECT * FROM calls WHERE arrived_at > ? ORDER BY arrived_at, id',
      time,
    );
  }

  /** The requests for people and tests, the newest first. */
  list({ search, account, failed, before, limit }: RequestFilter): RequestPage {
    const rows = this.#database.all<Row>(
      `${select} WHERE (@before = 0 OR calls.id < @before) AND (@account = '' OR keys.account = @account)
         AND (@failed = 0 OR status = 0 OR status >= 400 OR fault IS NOT NULL)
         AND (@search = '' OR @search IN (reference, order_number, keys.name))
       ORDER BY calls.id DESC LIMIT @limit + 1`,
      { search, account, failed: Number(failed === 'true'), before: before || 0, limit },
    );
    const requests = rows.slice(0, limit).map(shown);
    return { requests, next_before: rows.length > limit ? (requests.at(-1)?.id ?? null) : null };
  }

  /**
   * The request with this `Request-Id`; false when there is none, or not any more. Throws a
   * ZodError when it is not an id.
   */
  find(id: string): LoggedRequest | false {
    const [row] = this.#database.all<Row>(`${select} WHERE calls.id = ?`, requestId.parse(id));
    return row === undefined ? false : shown(row);
  }
}

function shown({ id, at, ...facts }: Row): LoggedRequest {
  return { id: `req-${id}`, at: isoTime(at), ...facts };
}
