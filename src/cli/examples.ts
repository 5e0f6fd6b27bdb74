import type { Command } from 'commander';

const why = '--reason "the shop called"';

/** The arguments of an example of each command. */
export const examples: Readonly<Record<string, string>> = {
  run: '--config order-sync.yaml',
  demo: '--once',
  init: '--example',
  'check-config': '--explain',
  submit: 'orders.csv --check',
  'orders list': '--attention',
  'orders show': '1001 --timeline',
  'orders ack': `--source shop1 --older-than 7d --yes ${why}`,
  'orders retry': `--code out_of_stock --yes ${why}`,
  'orders hold': `os-x2r2wtw ${why}`,
  'orders release': '--source shop1 --dry-run',
  'orders cancel': `os-x2r2wtw ${why}`,
  'orders reorder': `os-x2r2wtw --confirm os-x2r2wtw ${why}`,
  'orders resolve': `os-x2r2wtw --as rejected ${why}`,
  'audit list': '--since 2026-11-01',
  'queue status': '--explain',
  'queue pause': `variant:steam-usd-20 ${why}`,
  'queue resume': `account ${why}`,
  'balance set': 'USD 1200.00',
  'results rewrite': `--order 1001 ${why}`,
  reconcile: 'shop1 --since 2026-11-01',
  'skus check': '--offline',
  topups: '8932042000010001001',
  doctor: '--json',
  health: '--strict',
  'alerts test': '--json',
  'seal rotate': '--dry-run',
  'db check': '--json',
  'db backup': '--json',
  'db restore': 'backups/order-sync-20261101T030000000Z.db',
  wire: '--json',
  'wire test': '--last submit',
  sandbox: '--reset',
};

/** Adds examples to the help of these commands, and marks what is required. */
export function completeHelp(command: Command, parents = ''): void {
  const name = parents + command.name();
  const example = examples[name];
  if (example !== undefined)
    command.addHelpText('after', `\nExample:\n  order-sync ${name} ${example}`);
  for (const it of command.options) if (it.mandatory) it.description += ' (required)';
  for (const it of command.registeredArguments) if (it.required) it.description += ' (required)';
  for (const child of command.commands) completeHelp(child, `${name} `);
}
