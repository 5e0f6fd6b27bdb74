import type { Command } from 'commander';
import { programVersion } from '../../ops/program-version.ts';
import type { CliContext } from '../context.ts';

export function addVersion(program: Command, context: CliContext): void {
  program
    .command('version')
    .description('print the versions of order-sync and of Node')
    .option('--json', 'print JSON')
    .action((options: { json?: boolean }) => {
      const versions = { order_sync: programVersion, node: process.versions.node };
      if (options.json) context.stdout.write(`${JSON.stringify(versions)}\n`);
      else context.stdout.write(`order-sync ${versions.order_sync} on Node ${versions.node}\n`);
    });
}
