/**
 * The checks that a call goes through, in the default order. The service's own order is not shown (Spec 7 lists the
 * errors, not their precedence), so a test may choose another one; an adversary that can be any real service.
 */
export const checkNames = [
  'maintenance',
  'key',
  'address',
  'account',
  'limits',
  'request',
  'reference',
  'esim',
  'item',
  'state',
  'quantity',
  'currency',
  'refusal',
  'stock',
  'balance',
] as const;

export type CheckName = (typeof checkNames)[number];

/** The checks that need no more than the call's headers: they decide before a call does anything. */
export const admissionChecks: readonly CheckName[] = ['maintenance', 'key', 'address', 'account', 'limits'];

/** A check that reads what another one found out must come after it. */
const needs: Partial<Record<string, CheckName[]>> & Partial<Record<CheckName, CheckName[]>> = {
  address: ['key'],
  account: ['key'],
  limits: ['key'],
  reference: ['key', 'request'],
  esim: ['key'],
  item: ['request'],
  state: ['esim', 'item'],
  quantity: ['item'],
  currency: ['item'],
  refusal: ['item'],
  stock: ['item'],
  balance: ['currency', 'key'],
};

/** Why an order of checks cannot be followed, or null when it can. */
export function checkOrderProblem(order: readonly string[]): string | null {
  const missing = checkNames.filter((name) => !order.includes(name));
  if (missing.length > 0) return `every check must be named once; missing: ${missing.join(', ')}`;
  if (order.length !== checkNames.length) return 'every check must be named once; one is named twice';
  for (const [index, name] of order.entries()) {
    for (const needed of needs[name] ?? []) {
      if (order.indexOf(needed) > index) return `"${name}" needs what "${needed}" finds out, so it must come after it`;
    }
  }
  return null;
}
