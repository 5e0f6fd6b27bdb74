/** Containers send SIGTERM to stop a process, terminals send SIGINT. */
const stopSignalNames = ['SIGTERM', 'SIGINT'] as const;

/**
 * Listens for the stop signals. The first one removes the handlers: a second signal ends the process at once. The outbox
 * makes that safe, and a person who presses Ctrl-C twice wants it. `release` removes the handlers, too.
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
 * Listens for SIGHUP, which asks a daemon to reload its configuration. From this call on SIGHUP does not end the process
 * any more. A SIGHUP during the start of the worker is remembered until `listen`.
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
