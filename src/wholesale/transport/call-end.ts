import type { OutcomeRow } from '../../core/decision/outcome.ts';
import type { PlainHeaders } from '../../core/http-headers.ts';

/** How one HTTP call ended, before anything is concluded from it. */
export type CallEnd =
  | {
      readonly kind: 'answer';
      readonly http: number;
      readonly headers: PlainHeaders;
      /** All of it, as far as HTTP can tell: a body whose end is the end of the connection may have been cut. */
      readonly body: Uint8Array;
    }
  | {
      readonly kind: 'fault';
      readonly row: FaultRow;
      /** Whether the first byte of the request may have left. */
      readonly sent: boolean;
      readonly message: string;
      /** The status, when the head of an answer was there before the fault. */
      readonly http: number | null;
      readonly headers: PlainHeaders;
    };

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
