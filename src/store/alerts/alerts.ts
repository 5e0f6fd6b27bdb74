import { columnOf, statementOf } from '../sqlite/database.ts';
import { OutboxSteps } from '../sqlite/outbox.ts';

const selectTold = columnOf<[string], string>('SELECT told FROM alerts_told WHERE endpoint = ?');
const putTold = statementOf<{ endpoint: string; told: string }, never>(
  'REPLACE INTO alerts_told (endpoint, told) VALUES (:endpoint, :told)',
);
const keepOnly = [
  'alerts_told WHERE endpoint',
  "sink_pauses WHERE sink LIKE 'alert:%' AND substr(sink, 7)",
].map((rows) =>
  statementOf<[string], never>(`DELETE FROM ${rows} NOT IN (SELECT value FROM json_each(?))`),
);

export class Alerts extends OutboxSteps {
  /** What an endpoint was told, as it was recorded; null: nothing. */
  async told(endpoint: string): Promise<string | null> {
    return selectTold(this.database).get(endpoint) ?? null;
  }

  readonly record = this.step(({ database }, told: { endpoint: string; told: string }): void => {
    putTold(database).run(told);
  });

  /** Forgets endpoints that are not configured any more. */
  readonly keep = this.step(({ database }, endpoints: readonly string[]): void => {
    for (const keep of keepOnly) keep(database).run(JSON.stringify(endpoints));
  });
}
