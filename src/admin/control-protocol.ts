/**
 * The version of who sends: commands of another one are refused. In an answer it marks the worker:
 * a stale run file can lead the command line to any other program.
 */
export const versionHeader = 'x-order-sync-version';
export const controlPath = '/control/commands';
export const reloadPath = '/control/reload';
