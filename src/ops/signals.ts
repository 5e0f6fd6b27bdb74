/** Containers send SIGTERM to stop a process, terminals send SIGINT. */
const stopSignalNames = ['SIGTERM', 'SIGINT'] as const;

/**
 * A second signal ends the process at once: the outbox makes that safe. `release` removes the
 * handlers, too.
 */
export function listenForStop() {
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

/**
 * SIGHUP asks for a reload and does not end the process; one during the start is remembered until
 * `listen`.
 */
export function listenForReload() {
  let handler: (() => void) | null = null;
  let isPending = false;
  const onSignal = (): void => {
    if (handler === null) isPending = true;
    else handler();
  };
  process.on('SIGHUP', onSignal);
  return {
    listen: (given: () => void): void => {
      handler = given;
      if (isPending) given();
      isPending = false;
    },
    /** The next SIGHUP ends the process. */
    release: () => void process.off('SIGHUP', onSignal),
  };
}
