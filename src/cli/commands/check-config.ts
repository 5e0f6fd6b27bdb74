import type { Command } from 'commander';
import type { ConfigValue } from '../../config/config.ts';
import { addConfigOptions, checkedConfigFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { renderTable } from '../output.ts';

export function addCheckConfig(program: Command, context: CliContext): void {
  const command = program
    .command('check-config')
    .description('check the configuration and tell every mistake in it')
    .option('--explain', 'print every value and where it comes from; secrets are masked')
    .option('--json', 'print JSON');
  addConfigOptions(command).action((options: ConfigOptions & { explain?: boolean; json?: boolean }) => {
    const { file, warnings, values } = checkedConfigFrom(options);
    if (options.json) {
      const report = { file, valid: true, warnings, ...(options.explain ? { values } : {}) };
      context.stdout.write(`${JSON.stringify(report)}\n`);
      return;
    }
    if (options.explain) context.stdout.write(renderTable(['KEY', 'VALUE', 'SOURCE'], values.map(explainedRow)));
    for (const warning of warnings) context.stderr.write(`warning: ${warning}\n`);
    context.stdout.write(`${file} is valid\n`);
  });
}

function explainedRow(value: ConfigValue): string[] {
  const shown = typeof value.value === 'string' ? value.value : JSON.stringify(value.value);
  return [value.path, shown, value.place === '' ? value.source : value.place];
}
