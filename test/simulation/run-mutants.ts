import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { withMutant, type Mutant } from './mutant.ts';
import { mutants } from './mutants.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '10000' },
    /** Parts of names, separated by `|`. */
    only: { type: 'string' },
    workers: { type: 'string', default: '2' },
  },
});

const root = resolve(import.meta.dirname, '../..');
const say = (text: string): void => void process.stdout.write(`${text}\n`);

interface Verdict {
  readonly mutant: Mutant;
  /** The seed and the invariant that found it; null when nothing found it. */
  readonly killed: {
    readonly seed: string;
    readonly invariant: string;
    readonly sentence: string;
  } | null;
  readonly error: string | null;
}

/**
 * Makes a copy of the program with the bug in it. Throws when the text that the bug replaces is
 * missing.
 */
function plant(mutant: Mutant): string {
  const copy = mkdtempSync(
    join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'order-sync-mutant-'),
  );
  for (const folder of ['src', 'sandbox', 'test/simulation', 'test/support'])
    cpSync(join(root, folder), join(copy, folder), { recursive: true });
  cpSync(join(root, 'package.json'), join(copy, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const path = join(copy, 'src', mutant.file);
  writeFileSync(path, withMutant(mutant, readFileSync(path, 'utf8')));
  return copy;
}

function simulate(copy: string): Promise<string> {
  const { promise, resolve: done } = Promise.withResolvers<string>();
  const args = [
    'test/simulation/simulate.ts',
    '--seeds',
    values.seeds,
    '--workers',
    '1',
    '--stop-after',
    '1',
  ];
  const child = spawn(process.execPath, args, { cwd: copy, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (part: Buffer) => (output += part.toString()));
  child.stderr.on('data', (part: Buffer) => (output += part.toString()));
  child.on('close', () => done(output));
  return promise;
}

async function judge(mutant: Mutant): Promise<Verdict> {
  let copy: string | null = null;
  try {
    copy = plant(mutant);
    const output = await simulate(copy);
    const [, seed, invariant, sentence] = /^seed (\d+): (\S+) (.*)$/m.exec(output) ?? [];
    // A bug that uses a name that the code no longer has ends the program, and says nothing about
    // the invariants.
    if (sentence?.includes('ReferenceError') === true)
      return { mutant, killed: null, error: `does not fit the code: ${sentence}` };
    if (seed !== undefined && invariant !== undefined)
      return { mutant, killed: { seed, invariant, sentence: sentence ?? '' }, error: null };
    return { mutant, killed: null, error: /seeds\/s/.test(output) ? null : output.slice(-400) };
  } catch (error) {
    return { mutant, killed: null, error: String(error) };
  } finally {
    if (copy !== null) rmSync(copy, { recursive: true, force: true });
  }
}

const queue = mutants.filter(
  (mutant) => values.only?.split('|').some((part) => mutant.name.includes(part)) ?? true,
);
const verdicts: Verdict[] = [];
const waiting = [...queue];
await Promise.all(
  Array.from({ length: Number(values.workers) }, async () => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const verdict = await judge(mutant);
      verdicts.push(verdict);
      const { killed, error } = verdict;
      const end =
        killed === null
          ? (error ?? 'LIVES')
          : `killed by ${killed.invariant} in seed ${killed.seed}: ${killed.sentence}`;
      say(`${mutant.name}: ${end.slice(0, 200)}`);
    }
  }),
);
const alive = verdicts.filter((verdict) => verdict.killed === null);
say(
  `${queue.length - alive.length} of ${queue.length} planted bugs were found within ${values.seeds} seeds`,
);
if (alive.length > 0) process.exitCode = 1;
