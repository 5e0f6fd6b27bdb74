import { stepsOf } from '../support/steps.ts';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { removeOldResults } from '../../src/results/old-results.ts';
import { ResultFolder } from '../../src/results/result-folder.ts';
import { close, fulfilled, line, Outbox } from '../support/outbox.ts';

const dayMs = 86_400_000;
let root: string;
let folder: ResultFolder;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'order-sync-old-results-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  folder = new ResultFolder(root, { mode: 0o600, gid: null });
});

const write = (name: string, content: string): Promise<void> =>
  folder.replace('shop1', name, (draft) => draft.writeFile(content));
function age(path: string, days = 100): void {
  const seconds = Date.now() / 1000 - days * 86_400;
  utimesSync(path, seconds, seconds);
}
const document = (orderId: string, source = 'shop1'): string =>
  JSON.stringify({ source, order_id: orderId });

/** An outbox with an order that was delivered long ago, `1`, and one that is open, `2`. */
async function outboxOf(): Promise<Outbox> {
  const outbox = await Outbox.open();
  onTestFinished(() => outbox.close());
  const { results } = outbox.store;
  const steps = stepsOf(outbox.store);
  await outbox.accept([line({ orderId: '1' }), line({ orderId: '2' })]);
  await steps.closeAttempt(close(await outbox.opened(), fulfilled));
  const [due] = await results.dueDeliveries('folder', 99_999, 1);
  await results.closeDelivery({
    requestId: due?.requestId ?? 0,
    sink: 'folder',
    version: due?.version ?? 0,
    nowMs: 5000,
  });
  return outbox;
}

async function removeAll(outbox: Outbox, verdict = 'right'): Promise<void> {
  const apiClock = { read: () => ({ verdict }) };
  const deps = {
    store: outbox.store,
    clock: new SystemClock(),
    logger: pino({ enabled: false }),
    folder,
    apiClock,
  };
  await removeOldResults({ ...deps, keepDays: 10 }, new AbortController().signal);
}

describe('old results', () => {
  it('are removed only where the outbox knows that nobody needs them, and nothing else in the folder is', async () => {
    const outbox = await outboxOf();
    mkdirSync(join(root, 'shop1'));
    mkdirSync(join(root, 'files'));
    const csvId = '01JD2P4M9V6T8N3QK5R7XW0YZA';
    const kept: Record<string, string> = {
      '2.json': document('2'),
      'unknown.json': document('unknown'),
      'copy.json': document('1'),
      '3.json': document('1'),
      'broken.json': '{',
      'notes.txt': 'x',
      '.1.json.tmp': document('1'),
      '1.json.bak': document('1'),
    };
    for (const [name, content] of Object.entries(kept))
      writeFileSync(join(root, 'shop1', name), content);
    writeFileSync(join(root, 'shop1', '1.json'), document('1'));
    writeFileSync(join(root, 'files', `a.csv.${csvId}.csv`), 'a');
    for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' }))
      age(join(root, name));
    const elsewhere = mkdtempSync(join(tmpdir(), 'order-sync-elsewhere-'));
    onTestFinished(() => rmSync(elsewhere, { recursive: true }));
    writeFileSync(join(elsewhere, '1.json'), document('1', 'linked'));
    age(join(elsewhere, '1.json'));
    symlinkSync(elsewhere, join(root, 'linked'));
    await removeAll(outbox, 'wrong');
    expect(existsSync(join(root, 'shop1', '1.json'))).toBe(true);
    await removeAll(outbox);
    expect(readdirSync(join(root, 'shop1')).toSorted()).toEqual(Object.keys(kept).toSorted());
    expect(readdirSync(elsewhere)).toEqual(['1.json']);
    expect(readdirSync(join(root, 'files'))).toHaveLength(1);
  });

  it('that are written anew in that moment stay', async () => {
    await write('1.json', 'old');
    age(join(root, 'shop1', '1.json'));
    const file = { subfolder: 'shop1', name: '1.json' };
    const writing: Promise<void>[] = [];
    let hasBegun = false;
    const removed = await folder.remove(file, Date.now() - dayMs, async () => {
      const begin = folder.replace('shop1', '1.json', async (draft) => {
        hasBegun = true;
        await draft.writeFile('new');
      });
      writing.push(begin);
      // That it waits can only be seen by waiting.
      await delay(100);
      expect(hasBegun).toBe(false);
      return false;
    });
    await Promise.all(writing);
    expect([removed, readFileSync(join(root, 'shop1', '1.json'), 'utf8')]).toEqual([true, 'new']);
    age(join(root, 'shop1', '1.json'));
    const begun = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const slow = folder.replace('shop1', '1.json', async (draft) => {
      begun.resolve();
      await end.promise;
      await draft.writeFile('newer');
    });
    await begun.promise;
    expect(await folder.remove(file, Date.now() - dayMs, async () => false)).toBe(false);
    end.resolve();
    await slow;
    expect(await folder.remove(file, Date.now() - dayMs, async () => false)).toBe(false);
    expect(readFileSync(join(root, 'shop1', '1.json'), 'utf8')).toBe('newer');
  });

  it('end nothing when the folder is missing', async () => {
    const outbox = await outboxOf();
    rmSync(root, { recursive: true });
    await expect(removeAll(outbox)).resolves.toBeUndefined();
  });
});
