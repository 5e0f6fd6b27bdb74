import type { SectionCheck } from './section-check.ts';

const noProblem = () => null;

/** The host of the example files: a database must not be bound to it. */
const placeholder = /^https?:\/\/wholesale\.example\.com(?=[:/]|$)/i;

export function checkWholesale(check: SectionCheck): void {
  const address = check.at('wholesale', 'base_url');
  if (typeof address === 'string' && placeholder.test(address)) {
    check.report(
      ['wholesale', 'base_url'],
      `is the one of the example: write the address of your API, got "${address}"`,
    );
  }
  if (!check.isSandbox)
    check.encrypted(['wholesale', 'base_url'], 'keys and codes would cross the network');
  const limits = ['wholesale', 'limits'];
  const requests = check.number([...limits, 'requests'], 60);
  const orders = check.number([...limits, 'orders'], 20);
  if (orders > requests) {
    const reason = 'because each order counts as a request';
    check.report(
      [...limits, 'orders'],
      `must be at most \`requests\` (${requests}), ${reason}, got ${orders}`,
    );
  }
  const keys = check.entries('wholesale', 'keys');
  check.distinct(keys, 'name', 'the names of the other keys');
  // The server counts one key under two names as one key: the worker would exceed its budget.
  const next = 'remove one of them, because the server counts calls by key';
  check.secretsOf(keys, 'value', noProblem, (first) => `is the same key as ${first}: ${next}`);
}
