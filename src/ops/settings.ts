/** Which log lines are written, and in which form. */
export interface LogSettings {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  /** `auto`: for people when the stream is a terminal, one JSON object per line otherwise. */
  readonly format: 'auto' | 'json' | 'pretty';
}
