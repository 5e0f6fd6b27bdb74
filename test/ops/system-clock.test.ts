import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { SystemClock } from '../../src/ops/system-clock.ts';

const onLinux = process.platform === 'linux';

describe('the system clock', () => {
  it.runIf(onLinux)(
    'gives comparable monotonic times in two processes: a budget survives a restart',
    () => {
      const clock = new SystemClock();
      const before = clock.steadyMs();
      const script = `import { SystemClock } from ${JSON.stringify(new URL('../../src/ops/system-clock.ts', import.meta.url).href)}; process.stdout.write(String(new SystemClock().steadyMs()));`;
      const other = Number(
        execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }),
      );
      expect(other).toBeGreaterThan(before);
      expect(other).toBeLessThan(clock.steadyMs());
    },
  );

  it.runIf(onLinux)('has the boot id of the machine', () => {
    expect(new SystemClock().bootId).toBe(
      readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    );
  });

  it('ends a sleep at once when the signal aborts before or during it', async () => {
    const clock = new SystemClock();
    await clock.sleep(3_600_000, AbortSignal.abort());
    const abort = new AbortController();
    const sleeping = clock.sleep(3_600_000, abort.signal);
    abort.abort();
    await expect(sleeping).resolves.toBeUndefined();
  });

  it('can sleep longer than the longest timer of Node', async () => {
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const abort = new AbortController();
    const sleeping = new SystemClock().sleep(30 * 86_400_000, abort.signal);
    expect(timers.mock.calls.map(([, ms]) => ms)).toEqual([2_147_483_647]);
    abort.abort();
    await sleeping;
    timers.mockRestore();
  });

  it('sleeps at least as long as asked', async () => {
    const clock = new SystemClock();
    const start = clock.steadyMs();
    await clock.sleep(20);
    expect(clock.steadyMs() - start).toBeGreaterThanOrEqual(20);
  });
});
