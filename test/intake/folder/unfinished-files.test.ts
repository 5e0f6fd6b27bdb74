import { appendFileSync, linkSync, renameSync, writeFileSync } from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { FolderSettings } from '../../../src/intake/folder/settings.ts';
import { FolderBench } from './folder-bench.ts';

let bench: FolderBench;
afterEach(() => bench.close());

const minute = 60_000;

async function open(changes: Partial<FolderSettings> = {}): Promise<FolderBench> {
  bench = new FolderBench({ stableMs: 2000, unfinishedMs: 10 * minute, ...changes });
  await bench.intake.scanOnce();
  return bench;
}

/** Scans at once, after so long, and again: a file that did not change meanwhile is stable then. */
async function scanAfter(ms: number) {
  await bench.intake.scanOnce();
  bench.clock.advance(ms);
  return bench.intake.scanOnce();
}

const path = (name: string): string => join(bench.config.inbox, name);
const refused = () => bench.store.read.attention(100).filter(({ kind }) => kind === 'invalid_file');
const orders = () => bench.store.read.listOrders({ limit: 100 }).map(({ orderId }) => orderId);
const order = (id: string) =>
  `{"order_id":"${id}","currency":"USD","lines":[{"line_id":"1","type":"gift_card_order","variant":"v","quantity":1}]}`;
const header = 'order_id,variant,currency,note\n';

/** What an uploader has written before a pause, and what it writes then. */
const parts: readonly (readonly [
  what: string,
  name: string,
  first: string | Buffer,
  rest: string | Buffer,
])[] = [
  ['nothing', 'a.csv', '', `${header}1,v,USD,n\n`],
  ['nothing of JSON', 'a.json', '', order('1')],
  ['a blank line', 'a.csv', '\n', `${header}1,v,USD,n\n`],
  ['a part of a header', 'a.csv', 'order_id,vari', 'ant,currency,note\n1,v,USD,n\n'],
  ['a header', 'a.csv', header, '1,v,USD,n\n'],
  ['a row up to its second cell', 'a.csv', `${header}1,v`, ',USD,n\n'],
  ['a row up to a separator', 'a.csv', `${header}1,v,`, 'USD,n\n'],
  ['a quoted cell up to its middle', 'a.csv', `${header}1,v,USD,"Dear`, ' Ann"\n'],
  [
    'a letter of two bytes up to its middle',
    'a.csv',
    Buffer.from([...Buffer.from(`${header}1,v,USD,Gr`), 0xc3]),
    Buffer.from([0xbc, 0x0a]),
  ],
  ['JSON up to a comma', 'a.json', `[${order('0')},`, `${order('1')}]`],
  ['JSON without its last bracket', 'a.json', `[${order('1')}`, ']'],
  ['JSON up to the middle of a text', 'a.json', order('1').slice(0, 15), order('1').slice(15)],
  ['JSON up to the middle of a word', 'a.json', '[tru', `e,${order('1')}]`],
  ['JSON up to a minus', 'a.json', '[-', `1,${order('1')}]`],
  ['JSON up to an exponent', 'a.json', '[1e', `1,${order('1')}]`],
  ['JSON up to the middle of an escape', 'a.json', '["\\', `n",${order('1')}]`],
  ['an empty list so far', 'a.json', '[', `${order('1')}]`],
  [
    'NDJSON up to the middle of a line',
    'a.ndjson',
    `${order('0')}\n{"order`,
    `_id":"1"${order('1').slice(15)}\n`,
  ],
  ['no line of NDJSON', 'a.ndjson', '\n', order('1')],
];

describe('a file whose uploader pauses in the middle', () => {
  it.each(parts)(
    'stays in the inbox, and is read when it is complete: %s',
    async (_, name, first, rest) => {
      await open();
      const uploader = await openFile(path(name), 'w');
      await uploader.write(Buffer.from(first));
      await scanAfter(2000);
      for (const ms of [2000, minute, 8 * minute]) {
        expect(await scanAfter(ms)).toMatchObject({ ingested: 0, rejected: 0, waiting: 1 });
        expect([bench.names('inbox'), bench.names('work'), bench.names('rejected')]).toEqual([
          [name],
          [],
          [],
        ]);
      }
      expect([bench.entryCount(), refused()]).toEqual([0, []]);
      await uploader.write(Buffer.from(rest));
      await uploader.close();
      expect(await scanAfter(2000)).toMatchObject({ ingested: 1, rejected: 0 });
      expect(orders()).toContain('1');
      expect([bench.names('inbox'), bench.names('work'), refused()]).toEqual([[], [], []]);
    },
  );

  it('is rejected with a report when nothing more came for ten minutes', async () => {
    await open();
    writeFileSync(path('a.csv'), `${header}1,v,USD`);
    expect(await scanAfter(2000)).toMatchObject({ rejected: 0, unfinished: 1 });
    expect(
      bench.log.filter(({ level, msg }) => level === 40 && msg.includes('order file unfinished')),
    ).toHaveLength(1);
    expect(await scanAfter(9 * minute)).toMatchObject({ rejected: 0, unfinished: 0, waiting: 1 });
    expect(await scanAfter(minute)).toMatchObject({ rejected: 1 });
    expect(bench.report().code).toBe('truncated_tail');
    expect(refused()).toHaveLength(1);
  });

  it('waits again after each part that it writes', async () => {
    await open();
    writeFileSync(path('a.csv'), header);
    for (const id of ['1', '2', '3']) {
      expect(await scanAfter(2000)).toMatchObject({ unfinished: 1 });
      expect(await scanAfter(9 * minute)).toMatchObject({ waiting: 1, rejected: 0 });
      appendFileSync(path('a.csv'), `${id},v,USD,n\n${id}0,v`);
      expect(bench.entryCount()).toBe(0);
      writeFileSync(path('a.csv'), `${header}${id}`);
    }
    writeFileSync(path('a.csv'), `${header}4,v,USD,n\n`);
    expect(await scanAfter(2000)).toMatchObject({ ingested: 1 });
    expect(orders()).toEqual(['4']);
  });

  it('is read when all of it comes again under the same name', async () => {
    await open();
    writeFileSync(path('a.json'), order('1').slice(0, 30));
    expect(await scanAfter(2000)).toMatchObject({ unfinished: 1 });
    bench.drop('a.json', order('1'));
    expect(await scanAfter(2000)).toMatchObject({ ingested: 1, lines: { accepted: 1 } });
    expect([bench.names('inbox'), bench.names('rejected')]).toEqual([[], []]);
  });

  it('is rejected at once when its sender marked it as complete', async () => {
    await open({ ready: 'done_file' });
    bench.drop('a.csv', `${header}1,v`);
    bench.drop('a.csv.done', '');
    expect(await scanAfter(2000)).toMatchObject({ rejected: 1 });
    expect(bench.names('inbox')).toEqual([]);
  });

  it.each(['a.csv', 'Müller & Söhne (1).csv'])(
    'keeps its name %s and waits, also when the worker restarts',
    async (name) => {
      await open();
      writeFileSync(path(name), `${header}1,v`);
      for (let start = 0; start < 3; start += 1) {
        expect(await scanAfter(2000)).toMatchObject({ unfinished: 1 });
        await bench.restart();
      }
      // The worker ends after it has claimed the file, and again while it puts it back.
      const claimed = '01HZZZZZZZZZZZZZZZZZZZZZZZ';
      const work = join(bench.config.work, `${claimed}__a.csv`);
      await bench.store.intake.files.begin({
        id: claimed,
        name,
        folder: bench.config.name,
        sizeBytes: 1,
        nowMs: 1000,
      });
      renameSync(path(name), work);
      expect(await bench.intake.scanOnce()).toMatchObject({ unfinished: 1 });
      expect([bench.names('inbox'), bench.names('work')]).toEqual([[name], []]);
      await bench.restart();
      const other = '01HZZZZZZZZZZZZZZZZZZZZZZY';
      await bench.store.intake.files.begin({
        id: other,
        name,
        folder: bench.config.name,
        sizeBytes: 1,
        nowMs: 1000,
      });
      linkSync(path(name), work.replace(claimed, other));
      expect(await bench.intake.scanOnce()).toMatchObject({ unfinished: 1, rejected: 0 });
      expect([bench.names('inbox'), bench.names('work')]).toEqual([[name], []]);
      appendFileSync(path(name), ',USD,n\n');
      expect(await scanAfter(2000)).toMatchObject({ ingested: 1 });
      expect([orders(), refused()]).toEqual([['1'], []]);
    },
  );

  it('does not replace another file of its name: then it is rejected with a report', async () => {
    await open();
    const claimed = '01HZZZZZZZZZZZZZZZZZZZZZZZ';
    await bench.restart();
    writeFileSync(join(bench.config.work, `${claimed}__a.csv`), header);
    writeFileSync(path('a.csv'), `${header}1,v,USD,n\n`);
    expect(await scanAfter(2000)).toMatchObject({ ingested: 1 });
    expect([orders(), refused().length, bench.names('work')]).toEqual([['1'], 1, []]);
  });

  it('is read again from the archive, and waits in the inbox while its last row is incomplete', async () => {
    await open();
    const uploader = await openFile(path('a.csv'), 'w');
    await uploader.write(`${header}1,v,USD,n\n`);
    expect(await scanAfter(2000)).toMatchObject({ ingested: 1 });
    await uploader.write('2,v');
    expect(await bench.intake.scanOnce()).toMatchObject({ changed: 1 });
    expect(await scanAfter(2000)).toMatchObject({ unfinished: 1, rejected: 0 });
    await uploader.write(',USD,n\n');
    await uploader.close();
    expect(await scanAfter(2000)).toMatchObject({ ingested: 1, lines: { known: 1, accepted: 1 } });
    expect([orders().toSorted(), refused()]).toEqual([['1', '2'], []]);
  });
});

describe('a file with an error that no further byte mends', () => {
  it.each([
    ['a.json', '{"order_id" "1"}'],
    ['a.json', `${order('1')} ${order('2')}`],
    ['a.csv', '<!doctype html><p>Sign in'],
    ['a.csv', 'PK\u0003\u0004'],
    ['a.csv', `${header}1,v,USD,n\n`.replace('order_id', 'order_id,order_id')],
  ])('is rejected after two seconds: %s %s', async (name, content) => {
    await open();
    writeFileSync(path(name), content);
    expect(await scanAfter(2000)).toMatchObject({ rejected: 1 });
    expect(refused()).toHaveLength(1);
  });
});

describe('a file whose name has no known ending', () => {
  it.each([
    'a.csv.uploading',
    'a.inprogress',
    'a.csv.temp',
    'a.upload',
    'a.csv.download',
    'a.csv.!qB',
    'a.crdownload',
    'a.csv.part',
    'a.partial',
    'a.filepart',
    'a.csv.writing',
    'a.csv.incomplete',
    'a.csv_',
    'orders',
    'a.csv.1',
    'orders.xlsx',
  ])('belongs to its uploader for ten minutes after the last write: %s', async (name) => {
    await open();
    writeFileSync(path(name), header);
    for (let writes = 0; writes < 3; writes += 1) {
      expect(await scanAfter(9 * minute)).toMatchObject({ rejected: 0, waiting: 1 });
      appendFileSync(path(name), `${writes},v,USD,n\n`);
    }
    renameSync(path(name), path('a.csv'));
    expect(await scanAfter(2000)).toMatchObject({ ingested: 1 });
    expect(orders()).toHaveLength(3);
  });

  it('is rejected with a report after ten minutes, and needs attention', async () => {
    await open();
    writeFileSync(path('a.csv.uploading'), header);
    expect(await scanAfter(10 * minute)).toMatchObject({ rejected: 1 });
    expect(bench.report()).toMatchObject({ code: 'unknown_extension', file: 'a.csv.uploading' });
    expect(refused()).toHaveLength(1);
  });

  it('is in the attention list once, however often it is written', async () => {
    await open();
    for (const text of ['one', 'two', 'three']) {
      for (const name of ['notes.doc', 'list.doc']) writeFileSync(path(name), text);
      expect(await scanAfter(10 * minute)).toMatchObject({ rejected: 2 });
    }
    expect(refused()).toHaveLength(2);
    const ids = refused().map(({ id }) => id);
    await bench.store.operator.acknowledge({
      which: { ids },
      actor: 'test',
      reason: 'not ours',
      nowMs: bench.clock.wallMs(),
    });
    expect(refused()).toEqual([]);
    writeFileSync(path('notes.doc'), 'four');
    expect(await scanAfter(10 * minute)).toMatchObject({ rejected: 1 });
    expect(refused()).toHaveLength(1);
  });
});

it.each([
  'Thumbs.db',
  'thumbs.db',
  'ehthumbs.db',
  'Thumbs.db:encryptable',
  'desktop.ini',
  'Desktop.ini',
  '.DS_Store',
  '._a.csv',
  'Icon\r',
  '~$a.xlsx',
  '.~lock.a.csv#',
  'a.csv~',
  '.a.csv.swp',
  'a.csv.swo',
  '#a.csv#',
  '~WRL0001.tmp',
])('a file of a desktop or an editor is ignored: %s', async (name) => {
  await open();
  for (const text of ['1', '2']) {
    writeFileSync(path(name), text);
    expect(await scanAfter(60 * minute)).toMatchObject({ rejected: 0, waiting: 0 });
  }
  expect([bench.names('inbox'), bench.names('rejected'), refused()]).toEqual([[name], [], []]);
});

it('an order file whose name begins with a number sign is no file of an editor', async () => {
  await open();
  writeFileSync(path('#1001.csv'), `${header}1001,v,USD,n\n`);
  expect(await scanAfter(2000)).toMatchObject({ ingested: 1 });
});
