import { expect, it } from 'vitest';
import { withProgress } from '../../src/cli/progress.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';

const clock = new SystemClock();

it('says on a terminal how far long work is', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const written: string[] = [];
  const write = (text: string): void => {
    written.push(text);
    resolve('done');
  };
  const stderr = { isTTY: true, write };
  expect(await withProgress({ stderr, clock }, {}, () => '1 of 2', promise)).toBe('done');
  expect(written).toEqual(['1 of 2\n']);
});

it('says nothing with --json, nor where nobody looks, and fails as the work does', async () => {
  const written: string[] = [];
  const write = (text: string): void => void written.push(text);
  const longer = () => clock.sleep(1100).then(() => 'done');
  const [asked, piped] = await Promise.all([
    withProgress({ stderr: { isTTY: true, write }, clock }, { json: true }, () => 'x', longer()),
    withProgress({ stderr: { write }, clock }, {}, () => 'x', longer()),
  ]);
  expect([asked, piped, written]).toEqual(['done', 'done', []]);
  const failing = withProgress(
    { stderr: { isTTY: true, write }, clock },
    {},
    () => 'x',
    Promise.reject(new Error('no')),
  );
  await expect(failing).rejects.toThrow('no');
});
