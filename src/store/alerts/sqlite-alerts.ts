import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import type { AlertCondition, AlertRow, Alerts } from './alerts.ts';

type Row = Omit<AlertRow, 'sinceMs'> & { readonly since: string };

/** What was posted to the alert endpoints, on disk. */
export class SqliteAlerts implements Alerts {
  readonly #database: Sqlite;
  readonly #statements;

  constructor(database: Sqlite) {
    this.#database = database;
    this.#statements = {
      rows: database.prepare<[number], Row>(
        'SELECT kind, id, source, order_id AS orderId, code, since, what_to_do AS whatToDo FROM outbox_attention LIMIT ?',
      ),
      told: database.prepare<[string], AlertCondition>(
        'SELECT condition, count, newest_ms AS newestMs FROM alerts_told WHERE endpoint = ?',
      ),
      nextAt: database.prepare<[string], number>('SELECT next_at_ms FROM alert_endpoints WHERE endpoint = ?').pluck(),
      forget: database.prepare('DELETE FROM alerts_told WHERE endpoint = ?'),
      insert: database.prepare(
        'INSERT INTO alerts_told (endpoint, condition, count, newest_ms) VALUES (:endpoint, :condition, :count, :newestMs)',
      ),
      setNextAt: database.prepare(
        `INSERT INTO alert_endpoints (endpoint, next_at_ms) VALUES (:endpoint, :nextAtMs)
         ON CONFLICT (endpoint) DO UPDATE SET next_at_ms = excluded.next_at_ms`,
      ),
      keepTold: database.prepare('DELETE FROM alerts_told WHERE endpoint NOT IN (SELECT value FROM json_each(?))'),
      keepEndpoints: database.prepare(
        'DELETE FROM alert_endpoints WHERE endpoint NOT IN (SELECT value FROM json_each(?))',
      ),
    };
  }

  async rows(atMost: number): ReturnType<Alerts['rows']> {
    const rows = this.#statements.rows.all(atMost + 1);
    return {
      rows: rows.slice(0, atMost).map(({ since, ...row }) => ({ ...row, sinceMs: Date.parse(since) })),
      complete: rows.length <= atMost,
    };
  }

  async told(endpoint: string): ReturnType<Alerts['told']> {
    const { told, nextAt } = this.#statements;
    return { conditions: told.all(endpoint), nextAtMs: nextAt.get(endpoint) ?? 0 };
  }

  async record({ endpoint, conditions, nextAtMs }: Parameters<Alerts['record']>[0]): Promise<void> {
    const { forget, insert, setNextAt } = this.#statements;
    inTransaction(this.#database, () => {
      forget.run(endpoint);
      for (const posted of conditions) insert.run({ ...posted, endpoint });
      setNextAt.run({ endpoint, nextAtMs });
    });
  }

  async keep(endpoints: readonly string[]): Promise<void> {
    const names = JSON.stringify(endpoints);
    inTransaction(this.#database, () => {
      this.#statements.keepTold.run(names);
      this.#statements.keepEndpoints.run(names);
    });
  }
}
