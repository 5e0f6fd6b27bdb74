import { whatToDo } from '../../core/operator/attention.ts';
import type { Attention } from '../read/attention.ts';
import { statementOf } from '../sqlite/database.ts';
import { OutboxSteps } from '../sqlite/outbox.ts';

/**
 * Something that alerts are about: a kind of rows of the attention list, or `check:<name>` for a
 * check that fails.
 */
export interface AlertCondition {
  readonly condition: string;
  /** How many rows there are, at most as many as are looked at. */
  readonly count: number;
  /** The time of the newest row, in ms; 0 where there are no rows. */
  readonly newestMs: number;
}

/** One row of the attention list, without any text that somebody outside wrote. */
export interface AlertRow
  extends Pick<Attention, 'kind' | 'id' | 'source' | 'orderId' | 'code' | 'whatToDo'> {
  readonly sinceMs: number;
}

interface Told {
  readonly conditions: readonly AlertCondition[];
  /** In steady time. */
  readonly nextAtMs: number;
}

type Row = Omit<AlertRow, 'sinceMs' | 'whatToDo'> & Pick<Attention, 'reason' | 'since'>;
const selectRows = statementOf<[number], Row>(
  'SELECT kind, id, source, order_id AS orderId, code, reason, since FROM outbox_attention LIMIT ?',
);
const selectTold = statementOf<[string], AlertCondition>(
  'SELECT condition, count, newest_ms AS newestMs FROM alerts_told WHERE endpoint = ?',
);
const forgetTold = statementOf<[string], never>('DELETE FROM alerts_told WHERE endpoint = ?');
const insertTold = statementOf<AlertCondition & { endpoint: string }, never>(
  'INSERT INTO alerts_told (endpoint, condition, count, newest_ms) VALUES (:endpoint, :condition, :count, :newestMs)',
);
const keepOnly = [
  'alerts_told WHERE endpoint',
  "sink_pauses WHERE sink LIKE 'alert:%' AND substr(sink, 7)",
].map((rows) =>
  statementOf<[string], never>(`DELETE FROM ${rows} NOT IN (SELECT value FROM json_each(?))`),
);

export class Alerts extends OutboxSteps {
  /**
   * The rows of the attention list, those that matter most before the others; `complete`: there are
   * no more.
   */
  async rows(
    atMost: number,
  ): Promise<{ readonly rows: readonly AlertRow[]; readonly complete: boolean }> {
    const found = selectRows(this.database).all(atMost + 1);
    const rows = found.slice(0, atMost).map(({ since, reason, ...row }) => ({
      ...row,
      sinceMs: Date.parse(since),
      whatToDo: whatToDo(reason),
    }));
    return { rows, complete: found.length <= atMost };
  }

  async told(endpoint: string): Promise<Told> {
    const told = selectTold(this.database).all(endpoint);
    const nextAtMs = told.find(({ condition }) => condition === '')?.newestMs ?? 0;
    return { conditions: told.filter(({ condition }) => condition !== ''), nextAtMs };
  }

  /** Replaces what is known to have been posted to an endpoint. */
  readonly record = this.step(
    ({ database }, { endpoint, conditions, nextAtMs }: Told & { endpoint: string }): void => {
      forgetTold(database).run(endpoint);
      const next = { condition: '', count: 0, newestMs: nextAtMs };
      for (const posted of [...conditions, next]) insertTold(database).run({ ...posted, endpoint });
    },
  );

  /** Forgets endpoints that are not configured any more. */
  readonly keep = this.step(({ database }, endpoints: readonly string[]): void => {
    for (const keep of keepOnly) keep(database).run(JSON.stringify(endpoints));
  });
}
