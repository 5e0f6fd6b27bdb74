import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FolderBench, csvHeader } from './folder-bench.ts';

const files = 60;
const linesOfFile = 700;
const kills = 12;

let bench: FolderBench;
beforeEach(async () => {
  bench = new FolderBench();
  await bench.intake.scanOnce();
  await bench.store.close();
});
afterEach(() => bench.close());

const content = (file: number) =>
  `${csvHeader}\n${Array.from({ length: linesOfFile }, (_, line) => `order-${file},${line},gift_card_order,v,,,1,,USD\n`).join('')}`;

/**
 * Starts the intake in a process of its own; with a number, kills it that many batches after its
 * start.
 */
async function run(killAfter: number | null): Promise<'killed' | 'ended'> {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'intake-child.ts'), bench.root],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let batches = 0;
  child.stdout.on('data', (text: Buffer) => {
    batches += text.toString().split('accepted').length - 1;
    if (killAfter !== null && batches >= killAfter) child.kill('SIGKILL');
  });
  const [code, signal] = await once(child, 'exit');
  if (signal === 'SIGKILL') return 'killed';
  expect(code).toBe(0);
  return 'ended';
}

describe('a folder intake that is killed repeatedly', () => {
  it('has finally taken in every line of every file exactly once', async () => {
    for (let file = 0; file < files; file += 1) bench.drop(`${file}.csv`, content(file));
    let killed = 0;
    for (let index = 0; index < kills; index += 1) {
      // When the signal arrives, the child may be anywhere: in a batch, a commit or a rename.
      if ((await run(1 + (index % 9))) === 'killed') killed += 1;
    }
    expect(await run(null)).toBe('ended');
    bench.store = bench.openStore();
    expect(killed).toBeGreaterThan(kills / 2);
    expect([bench.names('inbox'), bench.names('work')]).toEqual([[], []]);

    // A file that was being read at two kills is rejected; somebody sends it again.
    const setAside = bench.names('rejected').filter((name) => name.endsWith('.csv'));
    expect(setAside.length + bench.archived().length).toBe(files);
    bench.intake = bench.newIntake();
    for (const name of setAside) bench.drop(name, content(Number(name.split('.')[0])));
    await bench.intake.scanOnce();
    expect(bench.entryCount()).toBe(files * linesOfFile);
    expect(bench.archived()).toHaveLength(files);
  });
});
