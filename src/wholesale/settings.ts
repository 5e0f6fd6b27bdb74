import type { Timeouts } from './transport/transport.ts';

/** Which API is called, and how. */
export interface WholesaleSettings {
  readonly environment: 'production' | 'sandbox';
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** The API that a database belongs to: `sandbox`, or the base URL. */
  readonly upstream: string;
  /** Certificate authorities in PEM that are trusted instead of those of the system; null: those of the system. */
  readonly ca: string | null;
  readonly keys: readonly WholesaleKey[];
  readonly timeouts: Pick<Timeouts, 'connectMs' | 'responseMs' | 'totalMs'>;
  /** As written: `readWire` checks it. Undefined: all defaults. */
  readonly wire: unknown;
}

/** One API key of the account. */
interface WholesaleKey {
  readonly name: string;
  readonly value: string;
}
