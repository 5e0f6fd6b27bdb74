import { subscribe } from 'node:diagnostics_channel';
import SqliteDatabase from 'better-sqlite3';

/**
 * Preloaded into the worker (`node --import`): tells the parent over IPC when it came to which point of its start.
 * Nothing of the worker is changed by it; it adds the loading of better-sqlite3, which the worker needs anyway, to
 * what is called the runtime's start.
 */
function mark(name: string): void {
  process.send?.({ name, at: performance.timeOrigin + performance.now() });
}

mark('runtime');

/** The channel must not keep the worker alive. */
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
  if (!begun && sql.startsWith('INSERT INTO incarnations')) {
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
