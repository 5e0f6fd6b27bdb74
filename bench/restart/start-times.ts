import { subscribe } from 'node:diagnostics_channel';
import SqliteDatabase from 'better-sqlite3';

/**
 * Preloaded into the worker with `node --import`: it reports over IPC when the start reaches each
 * point. It changes nothing in the worker, except that better-sqlite3 is loaded earlier: that time
 * counts as the start of the runtime.
 */
function mark(name: string): void {
  process.send?.({ name, at: performance.timeOrigin + performance.now() });
}

mark('runtime');

/** The IPC channel must not keep the process alive. */
process.channel?.unref();

// oxlint-disable-next-line typescript/unbound-method -- it is called with its own `this` below
const pragma = SqliteDatabase.prototype.pragma;
let opened = false;
SqliteDatabase.prototype.pragma = function marked(this: SqliteDatabase.Database, ...given) {
  if (!opened) mark('modules loaded');
  opened = true;
  return pragma.apply(this, given);
};

// oxlint-disable-next-line typescript/unbound-method -- it is called with its own `this` below
const prepare = SqliteDatabase.prototype.prepare;
let begun = false;
const markedPrepare = function markedPrepare(this: SqliteDatabase.Database, sql: string) {
  if (!begun && sql.startsWith('DELETE FROM shop_fingerprints')) {
    mark('store open');
    begun = true;
  }
  return prepare.call(this, sql);
};
Object.assign(SqliteDatabase.prototype, { prepare: markedPrepare });

let sent = false;
subscribe('undici:client:sendHeaders', () => {
  if (!sent) mark('first send');
  sent = true;
});
