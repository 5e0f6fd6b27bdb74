import { type Family, familyOf, type Purchase } from './purchase.ts';
import { OrderSyncError } from '../order-sync-error.ts';

/**
 * The scopes that can be paused, from the widest to the narrowest. As text: `account`,
 * `key:<name>`, `balance:<currency>`, `family:<family>`, `variant:<id>` (a gift card product) or
 * `plan:<id>` (an eSIM product).
 */
export type Scope =
  | { readonly kind: 'account' }
  | { readonly kind: 'key'; readonly name: string }
  | { readonly kind: 'balance'; readonly currency: string }
  | { readonly kind: 'family'; readonly family: Family }
  | { readonly kind: 'variant'; readonly id: string }
  | { readonly kind: 'plan'; readonly id: string };

/**
 * The scopes that an entry belongs to, whatever key it is sent with. Null where it has none: a
 * cancel has no product.
 */
export interface EntryScopes {
  readonly product: string | null;
  readonly family: string;
  readonly balance: string | null;
}

const families: readonly Family[] = ['gift_card', 'esim'];
const longestName = 64;
const longestProduct = 256;

/** The scope that a text names; null for one that names none. */
export function scopeFrom(text: string): Scope | null {
  const colon = text.indexOf(':');
  const [kind, rest] = colon === -1 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)];
  if (kind === 'account' && colon === -1) return { kind };
  if (kind === 'key' && rest !== '' && rest.length <= longestName) return { kind, name: rest };
  if (kind === 'balance' && /^[A-Z]{3}$/.test(rest)) return { kind, currency: rest };
  if ((kind === 'variant' || kind === 'plan') && rest !== '' && rest.length <= longestProduct) {
    return { kind, id: rest };
  }
  const family = families.find((it) => it === rest);
  return kind === 'family' && family !== undefined ? { kind, family } : null;
}

/** @throws OrderSyncError INVALID_INPUT for a text that names no scope */
export function readScope(text: string): Scope {
  const scope = scopeFrom(text);
  if (scope !== null) return scope;
  throw new OrderSyncError(
    'INVALID_INPUT',
    `"${text.slice(0, 80)}" is not a scope that can be paused`,
    {
      hint: 'account, key:<name>, balance:<currency> such as balance:USD, family:gift_card, family:esim, variant:<id> or plan:<id>',
    },
  );
}

export const keyScope = (keyName: string): string => `key:${keyName}`;

/** The product that is bought, as a scope; null for a cancel. */
export function productScope({ variant, plan }: Pick<Purchase, 'variant' | 'plan'>): string | null {
  if (variant !== null) return `variant:${variant}`;
  return plan === null ? null : `plan:${plan}`;
}

export function scopesOf(
  purchase: Pick<Purchase, 'operation' | 'variant' | 'plan' | 'currency'>,
): EntryScopes {
  const { operation, currency } = purchase;
  return {
    product: productScope(purchase),
    family: `family:${familyOf(operation)}`,
    balance: currency === null ? null : `balance:${currency}`,
  };
}

/** Every scope that a call can say something about. */
export function scopesJudged({ product, family, balance }: EntryScopes): readonly string[] {
  return [
    ...(product === null ? [] : [product]),
    family,
    ...(balance === null ? [] : [balance]),
    'account',
  ];
}
