import { describe, expect, it } from 'vitest';
import { ended, VirtualWorker, type VirtualCall } from '../support/virtual-worker.ts';

const isProbe = ({ kind }: VirtualCall): boolean => kind === 'probe';

/** A worker whose API answers nothing. Each line is of another product. */
async function withoutApi(maxUnknownOutcomes = 8): Promise<VirtualWorker> {
  const worker = await VirtualWorker.start({ maxUnknownOutcomes });
  worker.api.submit = () => ({ end: ended('dropped'), tookMs: 50 });
  worker.api.lookUp = () => ({ end: { kind: 'failed', outcome: ended('dropped') }, tookMs: 50 });
  worker.api.probe = () => ({ end: 'closed', tookMs: 50 });
  return worker;
}

async function paused(worker: VirtualWorker, lines = 20): Promise<void> {
  await worker.accept(Array.from({ length: lines }, (_, index) => `card-${index}`));
  await worker.until(() => worker.logged('scope paused').length > 0, 10_000);
}

describe('an API that does not answer', () => {
  it('pauses the account after three entries, and not after two', async () => {
    const worker = await withoutApi();
    await worker.accept(['a', 'b']);
    await worker.pass(10 * 60_000, 1000);
    expect(await worker.pauses()).toEqual([]);
    await worker.accept(['c']);
    await worker.until(() => worker.logged('scope paused').length > 0, 10_000);
    expect(await worker.pauses()).toMatchObject([{ scope: 'account', reason: 'api_unreachable' }]);
  });

  it('is called no more but by probes, a second later at first and a minute later at most', async () => {
    const worker = await withoutApi();
    await paused(worker);
    await worker.pass(1000);
    const before = worker.count((call) => !isProbe(call));
    await worker.pass(10 * 60_000);
    expect(worker.count((call) => !isProbe(call))).toBe(before);
    // Each probe asks one question only: a connection that fails answers both.
    const times = worker.calls.filter(isProbe).map(({ atMs }) => atMs);
    const gaps = times
      .slice(1)
      .map((atMs, index) => Math.round((atMs - (times[index] ?? 0)) / 1000));
    expect(gaps.slice(0, 8)).toEqual([2, 4, 8, 16, 32, 54, 54, 54]);
  });

  it('is one line in the log when it fails, one when it answers again, and a reminder every five minutes', async () => {
    const worker = await withoutApi();
    await paused(worker);
    const lines = worker.log.length;
    await worker.pass(21 * 60_000, 1000);
    expect(worker.log.slice(lines).map(({ msg }) => msg)).toEqual(
      Array(4).fill('scopes are still paused'),
    );
    worker.api.probe = () => ({ end: 'open', tookMs: 50 });
    worker.api.submit = () => ({ end: ended('out_of_stock', 422), tookMs: 50 });
    expect(
      await worker.until(() => worker.logged('scope resumed').length > 0, 120_000),
    ).toBeLessThan(60_000);
    await worker.pass(5000);
    for (const message of ['scope paused', 'scope resumed'])
      expect(worker.logged(message)).toHaveLength(1);
    expect(await worker.pauses()).toEqual([]);
  });

  it('that fails again soon is probed as late as before, and an hour later from the start', async () => {
    // Products that were never bought together take 50 % of them: enough for two pauses.
    const worker = await withoutApi(16);
    await paused(worker);
    await worker.until(() => worker.count(isProbe) >= 5, 120_000);
    worker.api.probe = () => ({ end: 'open', tookMs: 50 });
    await worker.until(() => worker.logged('scope resumed').length > 0, 120_000);
    worker.api.probe = () => ({ end: 'closed', tookMs: 50 });
    await worker.until(() => worker.logged('scope paused').length > 1, 600_000);
    expect((await worker.pauses())[0]?.probes).toBe(6);
    worker.api.probe = () => ({ end: 'open', tookMs: 50 });
    worker.api.submit = () => ({ end: ended('out_of_stock', 422), tookMs: 50 });
    worker.api.lookUp = () => ({ end: { kind: 'absent' }, tookMs: 50 });
    await worker.until(() => worker.logged('scope resumed').length > 1, 120_000);
    await worker.pass(3_600_000, 5000);
    worker.api.submit = () => ({ end: ended('dropped'), tookMs: 50 });
    worker.api.probe = () => ({ end: 'closed', tookMs: 50 });
    await worker.accept(['x', 'y', 'z']);
    await worker.until(() => worker.logged('scope paused').length > 2, 600_000);
    expect((await worker.pauses())[0]?.probes).toBe(0);
  });
});

describe('three calls that failed before a probe was answered', () => {
  it('do not make the next single failure pause the account again', async () => {
    const worker = await withoutApi();
    await worker.accept(['a', 'b', 'c']);
    await worker.until(() => worker.logged('scope paused').length > 0, 10_000);
    worker.api.probe = () => ({ end: 'open', tookMs: 50 });
    worker.api.lookUp = () => ({ end: { kind: 'failed', outcome: ended('dropped') }, tookMs: 50 });
    await worker.until(() => worker.logged('scope resumed').length > 0, 10_000);
    await worker.accept(['d']);
    await worker.until(() => worker.sent('d') > 0, 60_000);
    await worker.pass(2000);
    expect(await worker.pauses()).toEqual([]);
  });
});
