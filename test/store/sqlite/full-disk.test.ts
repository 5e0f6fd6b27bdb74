import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { repeatWhileBlocked } from '../../../src/ops/disk-guard.ts';
import { SystemClock } from '../../../src/ops/system-clock.ts';
import { openStore } from '../../../src/store/store.ts';
import type { Store } from '../../../src/store/store.ts';
import { line } from '../../support/outbox.ts';
import { SmallDisk } from '../../support/small-disk.ts';

/** A disk of 4 MB; or why none can be mounted. */
function smallDisk(): SmallDisk | string {
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-small-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const disk = SmallDisk.mount(folder, 4);
  if (typeof disk !== 'string') onTestFinished(() => disk.unmount());
  return disk;
}

const open = (disk: SmallDisk): Store =>
  openStore({
    path: join(disk.folder, 'order-sync.db'),
    init: 'if-missing',
    namespace: { instance: 'test', prefix: 'os', secret: Buffer.alloc(32, 7) },
    upstream: 'sandbox',
    sinks: [],
  });
const accept = (store: Store, orderId: string) =>
  store.intake.acceptBatch({
    nowMs: 1000,
    fileId: null,
    lines: [line({ orderId })],
    rejections: [],
  });

const full = (folder: string) =>
  expect.objectContaining({
    code: 'DISK_FULL',
    message: expect.stringContaining(`The disk of ${folder} is full`),
  });

describe('an outbox on a full disk', () => {
  it('names the disk, undoes the step, and repeats it when there is space', async ({ skip }) => {
    const disk = smallDisk();
    if (typeof disk === 'string') return skip(disk);
    const store = open(disk);
    await accept(store, '1');
    disk.fill('ballast', 0);
    await expect(accept(store, '2')).rejects.toEqual(full(disk.folder));
    expect(store.read.findOrder('shop1', '2')).toBeNull();
    let tries = 0;
    const life = { clock: new SystemClock(), signal: new AbortController().signal };
    const second = Promise.withResolvers<void>();
    const accepted = repeatWhileBlocked(() => {
      tries += 1;
      if (tries === 2) second.resolve();
      return accept(store, '2');
    }, life);
    await second.promise;
    disk.remove('ballast');
    expect(await accepted).toMatchObject([{ status: 'accepted', orderId: '2' }]);
    await store.close();
  });

  it('is closed, refused with the name of the disk at its opening, and complete when there is space', async ({
    skip,
  }) => {
    const disk = smallDisk();
    if (typeof disk === 'string') return skip(disk);
    const store = open(disk);
    await accept(store, '1');
    disk.fill('ballast', 0);
    await store.close();
    disk.fill('more', 0);
    expect(() => open(disk)).toThrow(full(disk.folder));
    disk.remove('ballast');
    const again = open(disk);
    expect(again.read.findOrder('shop1', '1')).not.toBeNull();
    await again.close();
  });

  it('lets no step wait longer than its signal', async () => {
    const end = new AbortController();
    const error = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
    const step = repeatWhileBlocked(() => Promise.reject(error), {
      clock: new SystemClock(),
      signal: end.signal,
    });
    end.abort();
    await expect(step).rejects.toBe(error);
  });
});
