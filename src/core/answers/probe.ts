import { verdictRows, type Outcome, type OutcomeRow } from './outcome.ts';

/**
 * The question of a probe: an order under a reference that was never sold, or the beginning of
 * `/products`. Neither spends money.
 */
export type ProbeQuestion = 'lookup' | 'products';

/**
 * The verdict of a probe. `open`: the API answered the question, so it also takes orders. `closed`:
 * the API denies the caller, or nothing answers. `cannot_tell`: anything else, such as an answer
 * that is not the API's.
 */
export type ProbeVerdict = 'open' | 'closed' | 'cannot_tell';

export interface Probe {
  readonly outcome: Outcome;
  readonly verdict: ProbeVerdict;
  /** The currencies in which the first products have prices; absent: none was read. */
  readonly currencies?: readonly string[] | undefined;
}

/**
 * The API denies the caller, or no connection was made: the other question would end in the same
 * way.
 */
const closedRows: readonly OutcomeRow[] = [
  'invalid_key',
  'account_not_allowed',
  'ip_not_allowed',
  'api_disabled',
  'unreachable',
  'tls_refused',
  'proxy_refused',
  'local_resource',
];

/**
 * Nothing answered, or a server failed. It counts for `/products` only: a lookup may fail where all
 * else works.
 */
const failedRows: readonly OutcomeRow[] = [
  'server_error',
  'foreign_server_error',
  'foreign_unavailable',
  'dropped',
  'headers_timeout',
  'cut_answer',
  'deadline',
];

/**
 * Judges the answer to a probe.
 * @param hasJsonHead whether the head of a success came and announced JSON; its body may be too
 * large, cut or slow
 */
export function probeVerdict(
  question: ProbeQuestion,
  outcome: Outcome,
  hasJsonHead: boolean,
): ProbeVerdict {
  const { row, http } = outcome;
  if (closedRows.includes(row)) return 'closed';
  // A denial with a code that Spec 7 does not list.
  if ((http === 401 || http === 403) && outcome.code !== null) return 'cannot_tell';
  if (verdictRows.has(row)) return 'open';
  if (hasJsonHead && row !== 'unreadable_success') return 'open';
  const isFailure = failedRows.includes(row) && (http === null || http >= 500);
  return question === 'products' && isFailure ? 'closed' : 'cannot_tell';
}
