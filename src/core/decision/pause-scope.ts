import { operations, familyOf, type Family, type Operation } from '../order/operation.ts';
import { OrderSyncError } from '../order-sync-error.ts';

/** What can be paused. As text: `account`, `key:<name>`, `balance:<currency>` or `family:<family>`. */
type PauseScope =
  | { readonly kind: 'account' }
  | { readonly kind: 'key'; readonly name: string }
  | { readonly kind: 'balance'; readonly currency: string }
  | { readonly kind: 'family'; readonly family: Family };

const families: readonly Family[] = ['gift_card', 'esim'];

/** The scope that a text names; null for one that names none. */
export function pauseScopeFrom(text: string): PauseScope | null {
  const colon = text.indexOf(':');
  const [kind, rest] = colon === -1 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)];
  if (kind === 'account' && colon === -1) return { kind };
  if (kind === 'key' && rest !== '' && rest.length <= 64) return { kind, name: rest };
  if (kind === 'balance' && /^[A-Z]{3}$/.test(rest)) return { kind, currency: rest };
  const family = families.find((it) => it === rest);
  return kind === 'family' && family !== undefined ? { kind, family } : null;
}

/** @throws OrderSyncError INVALID_INPUT for a text that names no scope */
export function readPauseScope(text: string): PauseScope {
  const scope = pauseScopeFrom(text);
  if (scope !== null) return scope;
  throw new OrderSyncError('INVALID_INPUT', `"${text.slice(0, 80)}" names no scope that can be paused`, {
    hint: 'account, key:<name>, balance:<currency> such as balance:USD, family:gift_card or family:esim',
  });
}

/** The operations of a family. */
export function operationsOf(family: Family): readonly Operation[] {
  return operations.filter((operation) => familyOf(operation) === family);
}
