export interface ReloadSignal {
  /** Calls the handler at every SIGHUP from now on, and at once if one came before. */
  listen(handler: () => void): void;
  /** Gives the signal back to Node, which ends the process at the next one. */
  release(): void;
}

/**
 * Listens for SIGHUP, which asks a daemon to read its configuration again. From the moment of the call it ends the
 * process no more: one that comes while the worker starts is kept until it can be served.
 */
export function listenForReload(): ReloadSignal {
  let handler: (() => void) | null = null;
  let isKept = false;
  const onSignal = (): void => {
    if (handler === null) isKept = true;
    else handler();
  };
  process.on('SIGHUP', onSignal);
  return {
    listen: (given) => {
      handler = given;
      if (isKept) given();
      isKept = false;
    },
    release: () => void process.off('SIGHUP', onSignal),
  };
}
