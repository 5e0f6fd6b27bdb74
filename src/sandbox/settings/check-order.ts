/**
 * The checks of a call, in the default order. The order of the real service is not shown: Spec 7 lists the errors, not
 * their precedence. A config can choose another order, to try a client against every plausible service.
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

/** The checks that need only the headers of a call. They alone also apply to calls that only read. */
export const admissionChecks: readonly CheckName[] = ['maintenance', 'key', 'address', 'account', 'limits'];

/** The checks whose findings a check reads; it must come after them. */
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

/** Why an order of checks is not possible, or null when it is. */
export function checkOrderProblem(order: readonly string[]): string | null {
  const missing = checkNames.filter((name) => !order.includes(name));
  if (missing.length > 0) return `every check must be named once; missing: ${missing.join(', ')}`;
  if (order.length !== checkNames.length) return 'every check must be named once; one is named twice';
  for (const [index, name] of order.entries()) {
    for (const needed of needs[name] ?? []) {
      if (order.indexOf(needed) > index) return `"${name}" needs the result of "${needed}", so it must come after it`;
    }
  }
  return null;
}
