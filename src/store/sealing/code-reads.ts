import type { Unit } from '../../core/answers/order-answer.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { checkedAuditedRequest, recordAudit, type AuditedRequest } from '../sqlite/audit.ts';
import { inTransaction, statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import type { SealedUnits } from '../sqlite/sealed-units.ts';

export interface CodeRead extends AuditedRequest {
  readonly source: string;
  readonly orderId: string;
  /** The version of the result. */
  readonly version: number;
}

const action = 'read_codes';

const find = statementOf<[string], { reference: string; units: string | null }>(
  'SELECT reference, units FROM entries WHERE reference = ?',
);
const findRead = statementOf<{ subject: string; actor: string; version: number }, number>(
  `SELECT 1 FROM audit WHERE subject = :subject AND +action = '${action}' AND +actor = :actor
     AND json_extract(detail, '$.version') = :version`,
);

/** Reading delivered codes, by people and by the callers of the HTTP API. Each leaves an audit entry. */
export class CodeReads {
  readonly #database: Sqlite;
  readonly #units: SealedUnits;

  constructor({ database, units }: Outbox) {
    this.#database = database;
    this.#units = units;
  }

  /**
   * The units of an entry, in clear, for a person.
   * @throws OrderSyncError NOT_FOUND, INVALID_INPUT without a reason, SEALED_UNREADABLE
   */
  async reveal(given: AuditedRequest & { readonly reference: string }): Promise<readonly Unit[]> {
    const request = checkedAuditedRequest(given);
    const { reference: subject } = request;
    return inTransaction(this.#database, () => {
      const row = find(this.#database).get(subject);
      if (row === undefined) {
        throw new OrderSyncError('NOT_FOUND', `No reference "${subject}" is in the outbox`, {
          hint: 'look for it with `order-sync orders list --search`',
        });
      }
      const units = this.#units.of(row);
      recordAudit(this.#database, { ...request, action, subject, detail: { units: units.length } });
      return units;
    });
  }

  /** Records that a caller read the codes of an order: once for each caller, order and version of its result. */
  async record({ source, orderId, version, ...request }: CodeRead): Promise<void> {
    const subject = `${source}/${orderId}`;
    // A caller may ask again and again: only the first time costs a commit.
    if (findRead(this.#database).get({ subject, actor: request.actor, version }) !== undefined) return;
    const entry = { ...request, action, subject, detail: { version } };
    inTransaction(this.#database, () => recordAudit(this.#database, entry));
  }
}
