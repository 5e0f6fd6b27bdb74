/** The signals that ask the worker to end in good order: containers send SIGTERM, terminals SIGINT. */
const stopSignalNames = ['SIGTERM', 'SIGINT'] as const;

export interface StopSignals {
  /** Aborts at the first signal; its reason is the signal's name. */
  readonly signal: AbortSignal;
  /** Gives the signals back to Node, which ends the process at the next one. */
  release(): void;
}

/**
 * Listens for the signals that ask for the end. After the first one the handlers are gone, so that a second one ends
 * the process at once: the outbox makes that safe, and a person who presses Ctrl-C twice means it.
 */
export function listenForStop(): StopSignals {
  const abort = new AbortController();
  const release = () => {
    for (const name of stopSignalNames) process.off(name, onSignal);
  };
  const onSignal = (name: NodeJS.Signals) => {
    release();
    abort.abort(name);
  };
  for (const name of stopSignalNames) process.on(name, onSignal);
  return { signal: abort.signal, release };
}
