import type { OutcomeRow } from '../../core/answers/outcome.ts';
import type { PlainHeaders } from '../../core/http-headers.ts';

/** How one HTTP call ended, before anything is concluded from it. */
export type CallEnd =
  | {
      readonly kind: 'answer';
      readonly http: number;
      readonly headers: PlainHeaders;
      /**
       * Complete as far as HTTP can tell: a body that ends with the connection may have been cut.
       */
      readonly body: Uint8Array;
    }
  | {
      readonly kind: 'fault';
      readonly row: FaultRow;
      /** Whether the first byte of the request may have left. */
      readonly sent: boolean;
      readonly message: string;
      /** The status, when the head of an answer came before the fault. */
      readonly http: number | null;
      readonly headers: PlainHeaders;
    };

/**
 * When an answer came, and what its `Date` says (RFC 9110, 6.6.1), in ms; null when it has none
 * that can be used.
 */
interface AnswerTime {
  readonly sentMs: number;
  readonly receivedMs: number;
  readonly dateMs: number | null;
}

/** Receives the time of each answer. */
export interface AnswerTimes {
  readonly steadyMs: () => number;
  readonly onAnswer: (time: AnswerTime) => void;
}

/**
 * An HTTP date starts with the name of a day. A cache repeats the date of the first answer, and
 * says so by `Age`.
 */
export function dateOf(headers: CallEnd['headers']): number | null {
  const { date = '', age = '0' } = headers;
  const dateMs = /^[A-Za-z]{3}, \d/.test(date) && Number(age) === 0 ? Date.parse(date) : Number.NaN;
  return Number.isNaN(dateMs) ? null : dateMs;
}

/** The rows that a call without a complete answer can end in. */
export type FaultRow = Extract<
  OutcomeRow,
  | 'unreachable'
  | 'tls_refused'
  | 'proxy_refused'
  | 'local_resource'
  | 'local_defect'
  | 'dropped'
  | 'headers_timeout'
  | 'cut_answer'
  | 'deadline'
  | 'shutdown'
>;

/** The authority of the certificate is not known here. */
const untrustedCodes = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);
const tlsCodes = new Set([
  ...untrustedCodes,
  'EPROTO',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'CERT_CHAIN_TOO_LONG',
  'CERT_SIGNATURE_FAILURE',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'HOSTNAME_MISMATCH',
]);
const resourceCodes = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EADDRNOTAVAIL']);
/** The answer began, and it was incomplete or not HTTP. */
const answerCodes = new Set([
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_RES_EXCEEDED_MAX_SIZE',
  'UND_ERR_HEADERS_OVERFLOW',
]);

/** The code of an error, or of the first error inside it that has one; empty when none has. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if ('code' in error && typeof error.code === 'string' && error.code !== '') return error.code;
  if (error instanceof AggregateError) {
    for (const inner of error.errors) {
      const code = codeOf(inner);
      if (code !== '') return code;
    }
  }
  return error.cause === undefined ? '' : codeOf(error.cause);
}

/** undici 8 gives this error a code only sometimes, and its name always. */
function isParserError(error: unknown, code: string): boolean {
  return code.startsWith('HPE_') || (error instanceof Error && error.name === 'HTTPParserError');
}

/**
 * The row of a call that failed, by the code or name of its error, never by its text. An error
 * cannot tell whether the API processed the request: only `sent` decides between "surely not" and
 * "perhaps". An unknown error gets the more careful of the rows that `sent` allows.
 */
export function faultRowOf(
  error: unknown,
  seen: { readonly sent: boolean; readonly headSeen: boolean },
): FaultRow {
  const code = codeOf(error);
  if (seen.sent) {
    if (code === 'UND_ERR_HEADERS_TIMEOUT') return 'headers_timeout';
    if (seen.headSeen || answerCodes.has(code) || isParserError(error, code)) return 'cut_answer';
    return 'dropped';
  }
  if (tlsCodes.has(code) || code.startsWith('ERR_TLS_') || code.startsWith('ERR_SSL_'))
    return 'tls_refused';
  if (code.startsWith('UND_ERR_PRX_') || code.startsWith('UND_ERR_SOCKS5')) return 'proxy_refused';
  if (resourceCodes.has(code)) return 'local_resource';
  if (code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH')
    return 'local_defect';
  if (code.startsWith('ERR_INVALID_') || code === 'ERR_ASSERTION' || error instanceof TypeError)
    return 'local_defect';
  return 'unreachable';
}

/** The report of the network or of Node, for an operator; it never contains the request. */
export function faultMessage(error: unknown): string {
  const code = codeOf(error);
  const text = error instanceof Error ? error.message : String(error);
  const named = code === '' || text.includes(code) ? text : `${text} (${code})`;
  return untrustedCodes.has(code) ? `${named}; wholesale.ca_file can name its authority` : named;
}
