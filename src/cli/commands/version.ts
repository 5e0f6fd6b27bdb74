import type { Command } from 'commander';
import { programVersion } from '../../ops/program-version.ts';
import type { CliContext } from '../context.ts';
import { writeAnswer } from '../output.ts';

export function addVersion(program: Command, context: CliContext): void {
  program
    .command('version')
    .description('print the versions of order-sync and of Node')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) => {
      const { node } = process.versions;
      const text = `order-sync ${programVersion} on Node ${node}\n`;
      writeAnswer(context.stdout, json, { order_sync: programVersion, node }, text);
    });
}
