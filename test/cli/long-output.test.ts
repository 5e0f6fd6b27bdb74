import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { knownInstallation, projectRoot } from './installation.ts';
import { line, openOutbox, startMs } from './sample-outbox.ts';

const lines = 4000;

/** Shows an order with many lines in a pipe to this command of the shell. */
async function showLongOrder(reader: string) {
  const place = knownInstallation();
  const store = openOutbox(place);
  const many = Array.from({ length: lines }, (_, index) =>
    line('1001', String(index), { variant: 'v', quantity: 1 }),
  );
  await store.intake.acceptBatch({ nowMs: startMs, fileId: null, lines: many, rejections: [] });
  await store.close();
  const command = `"$0" bin/order-sync.js orders show 1001 --json --config "$1" | ${reader}; echo "code \${PIPESTATUS[0]}" >&2`;
  const options = { cwd: projectRoot, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 } as const;
  return spawnSync('bash', ['-c', command, process.execPath, place.configFile], options);
}

describe('the output of a command', () => {
  it('is whole in a pipe whose reader is slow, also when it is large', async () => {
    const { stdout, stderr } = await showLongOrder('(sleep 1; cat)');
    expect(stderr).toBe('code 0\n');
    expect(stdout.length).toBeGreaterThan(1024 * 1024);
    expect(JSON.parse(stdout).entries).toHaveLength(lines);
  });

  it('that cannot be written ends the command with an error', () => {
    const { configFile } = knownInstallation();
    const command = '"$0" bin/order-sync.js check-config --config "$1" > /dev/full';
    const { status, stderr } = spawnSync('bash', ['-c', command, process.execPath, configFile], {
      cwd: projectRoot,
      encoding: 'utf8',
      timeout: 60_000,
    });
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/order-sync: the output could not be written: ENOSPC: .*\n$/),
    ]);
  });

  it('ends quietly with the reader of its pipe', async () => {
    const { stdout, stderr } = await showLongOrder('head -c 5');
    expect([stdout, stderr]).toEqual(['{"id"', 'code 0\n']);
  });
});
