import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { projectRoot } from '../support/worker-process.ts';

interface Workflow {
  readonly jobs: Record<string, { readonly steps: readonly { uses?: string; run?: string }[] }>;
}

const { scripts } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'));
const steps = globSync('.github/workflows/*.yml', { cwd: projectRoot }).flatMap((file) => {
  const { jobs }: Workflow = parse(readFileSync(join(projectRoot, file), 'utf8'));
  return Object.values(jobs).flatMap((job) => job.steps);
});

describe('the workflows', () => {
  it('use actions by the hash of a commit, which nobody can move', () => {
    const used = steps.flatMap(({ uses }) => uses ?? []);
    expect(used.length).toBeGreaterThan(0);
    expect(used.filter((uses) => !/@[0-9a-f]{40}$/.test(uses))).toEqual([]);
  });

  it('run scripts and files that exist', () => {
    const commands = steps.flatMap(({ run }) => run ?? []);
    const missing = commands.filter((command) => {
      const [, script] = /^npm (?:run )?(\S+)/.exec(command) ?? [];
      if (script !== undefined) return script !== 'ci' && !Object.hasOwn(scripts, script);
      return command.startsWith('.') && !existsSync(join(projectRoot, command));
    });
    expect(commands).toContain('npm run check');
    expect(missing).toEqual([]);
  });
});
