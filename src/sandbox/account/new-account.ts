import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { accountSchema, keySchema } from '../config.ts';
import { type Accounts, newKeyValue } from './accounts.ts';

/** A sandbox that runs for long must not fill its disk with accounts of test runs. */
export const maxAccounts = 1_000;

/** An account to make while the sandbox runs: all that a config can say of it, and what is left out is made up. */
export const newAccountSchema = accountSchema.partial({ id: true }).extend({
  keys: z
    .array(keySchema.partial({ value: true }))
    .max(5, 'an account holds at most 5 live keys (Spec 8)')
    .prefault([{ name: 'main' }]),
});

/** What the maker of an account must know; its keys are not shown again. */
export type NewAccount = { id: string; keys: Array<{ name: string; value: string }> };

/**
 * Stores a new account. It stays until the sandbox is reset. Must run inside a transaction.
 * Throws when its id or a key exists already, or when there are too many accounts.
 * @internal
 */
export function createAccount(accounts: Accounts, wanted: z.output<typeof newAccountSchema>, now: number): NewAccount {
  const id = wanted.id ?? `account-${randomBytes(5).toString('hex')}`;
  if (accounts.count() >= maxAccounts) {
    throw new Error(`there are ${maxAccounts} accounts, which is the limit: use one of them, or reset the sandbox`);
  }
  if (accounts.account(id) !== undefined) throw new Error(`id: the account ${id} exists already: leave out the id`);
  const keys = wanted.keys.map((key) => ({ ...key, value: key.value ?? newKeyValue() }));
  for (const [index, { value }] of keys.entries()) {
    if (accounts.keyOf(value) === undefined && keys.findIndex((key) => key.value === value) === index) continue;
    throw new Error(`keys[${index}].value: this key exists already: leave out the value`);
  }
  accounts.seed({ ...wanted, id, keys }, now);
  return { id, keys: keys.map(({ name, value }) => ({ name, value })) };
}
