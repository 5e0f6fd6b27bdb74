/**
 * The accounts of a sandbox without a config: one that buys, and some of which every call is refused in a known way, as
 * test values are refused.
 */
export const defaultAccounts = [
  { id: 'acme', keys: [{ name: 'main', value: 'sandbox-key-main' }] },
  {
    id: 'keys',
    keys: [
      { name: 'revoked', value: 'sandbox-key-revoked', revoked: true },
      // An address for documentation (RFC 5737): no caller has it.
      { name: 'other-address', value: 'sandbox-key-other-address', allow_list: ['192.0.2.1'] },
    ],
  },
  {
    id: 'blocked',
    blocked: true,
    keys: [{ name: 'main', value: 'sandbox-key-blocked' }],
  },
  {
    id: 'not-wholesale',
    wholesale: false,
    keys: [{ name: 'main', value: 'sandbox-key-not-wholesale' }],
  },
  {
    id: 'empty',
    balances: { USD: '0.00', EUR: '0.00' },
    keys: [{ name: 'main', value: 'sandbox-key-empty' }],
  },
];
