import * as z from 'zod';
import { isoTime } from '../clock.ts';
import type { Database } from '../database.ts';
import type { Operation } from '../orders/operations.ts';

const requestId = z
  .string()
  .regex(/^(req-)?\d{1,15}$/, 'the Request-Id of an answer, such as req-17')
  .transform((text) => Number(text.replace('req-', '')));

/** Which requests to show, as the parameters of an address. An empty one counts as left out. */
export const requestFilterSchema = z.strictObject({
  /** Text of the path, of one of the bodies, or of the key's name; a reference or an order number. */
  search: z.string().max(200).default(''),
  account: z.string().max(40).default(''),
  /** Only those that were answered with an error, or not at all, or that met a fault. */
  failed: z.enum(['', 'true', 'false']).default(''),
  /** Only those that are older than this one. */
  before: z.union([z.literal(''), requestId]).default(''),
  limit: z.coerce.number().int().min(1).max(500).default(50),
});

export type RequestFilter = z.output<typeof requestFilterSchema>;

/** A request of the API as the log shows it. */
export type LoggedRequest = {
  /** The `Request-Id` of its answer. */
  id: string;
  at: string;
  /** Whose key it had; null: none, or an unknown one. */
  account: string | null;
  key: string | null;
  operation: Operation;
  /** These five are null when its bodies are not kept any more. */
  method: string | null;
  path: string | null;
  address: string | null;
  request: string | null;
  /** What the service answered; a fault may have spoiled it on its way. Empty when it did not answer. */
  response: string | null;
  /** 0: it was not answered, or later. */
  status: number;
  code: string | null;
  reference: string | null;
  order_number: string | null;
  fault: string | null;
};

export type RequestPage = {
  requests: LoggedRequest[];
  /** For `before`, to read on; null on the last page. */
  next_before: string | null;
};

type Row = Omit<LoggedRequest, 'id' | 'at'> & { id: number; at: number };

const select = `SELECT calls.id, calls.arrived_at AS at, keys.account, keys.name AS key, operation, method, path, address,
    request, response, status, code, reference, order_number, fault
  FROM calls LEFT JOIN keys ON keys.id = calls.key LEFT JOIN exchanges ON exchanges.call = calls.id`;

/**
 * The request log for people and tests, the newest first.
 * @internal
 */
export function listRequests(database: Database, filter: RequestFilter): RequestPage {
  const { search, account, failed, before, limit } = filter;
  const rows = database
    .prepare<object, Row>(
      `${select} WHERE (@before = 0 OR calls.id < @before) AND (@account = '' OR keys.account = @account)
         AND (@failed = 0 OR status = 0 OR status >= 400 OR fault IS NOT NULL)
         AND (@search = '' OR @search IN (reference, order_number, keys.name) OR instr(path, @search) > 0
           OR instr(request, @search) > 0 OR instr(response, @search) > 0)
       ORDER BY calls.id DESC LIMIT @limit + 1`,
    )
    .all({ search, account, failed: Number(failed === 'true'), before: before || 0, limit });
  const requests = rows.slice(0, limit).map(shown);
  return { requests, next_before: rows.length > limit ? (requests.at(-1)?.id ?? null) : null };
}

/**
 * The request with this `Request-Id`; false when there is none, or not any more. Throws a ZodError when it is not an id.
 * @internal
 */
export function requestOf(database: Database, id: string): LoggedRequest | false {
  const row = database.prepare<[number], Row>(`${select} WHERE calls.id = ?`).get(requestId.parse(id));
  return row === undefined ? false : shown(row);
}

function shown({ id, at, ...facts }: Row): LoggedRequest {
  return { id: `req-${id}`, at: isoTime(at), ...facts };
}
