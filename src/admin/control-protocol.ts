/** Marks an answer as the worker's own: a stale run file can lead the command line to any other program. */
export const controlMark = 'x-order-sync-control';
export const controlPath = '/control/commands';
export const reloadPath = '/control/reload';
