import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Installation } from '../support/worker-process.ts';

const header = 'order_id,line_id,type,variant,plan,iccid,quantity,days,currency';
const row = (
  id: string,
  changes: { quantity?: string; variant?: string; currency?: string } = {},
): string =>
  `${id},1,gift_card_order,${changes.variant ?? 'steam-usd-5'},,,${changes.quantity ?? '1'},,${changes.currency ?? 'USD'}`;
const csv = (...rows: string[]): string => `${[header, ...rows].join('\n')}\n`;
const line = '{"line_id":"1","type":"gift_card_order","variant":"steam-usd-5","quantity":1}';
const order = (id: string, lines = line): string =>
  `{"order_id":"${id}","currency":"USD","lines":[${lines}]}`;

interface BadInput {
  readonly what: string;
  readonly file: string;
  /** The bytes of the file, or a function that puts it into the inbox. */
  readonly content: string | Uint8Array | ((path: string) => void);
  /**
   * The code of the report about the file, or the codes about its lines; none: the file is
   * accepted.
   */
  readonly refused?: string | readonly string[];
  /** The orders of the file that are bought all the same. */
  readonly bought?: readonly string[];
}

/**
 * Kinds of file and of content, with the expected report. All contents that are refused stand in
 * test/intake/orders.
 */
const inputs: readonly BadInput[] = [
  {
    what: 'a byte order mark',
    file: 'bom.csv',
    content: `\uFEFF${csv(row('bom'))}`,
    bought: ['bom'],
  },
  {
    what: 'a byte order mark in JSON',
    file: 'bom.json',
    content: `\uFEFF${order('bom-json')}`,
    bought: ['bom-json'],
  },
  {
    what: 'UTF-16',
    file: 'utf16.csv',
    content: Buffer.from(`\uFEFF${csv(row('u'))}`, 'utf16le'),
    refused: 'encoding_utf16',
  },
  {
    what: 'blocks of zeros after a power loss',
    file: 'zeros.ndjson',
    content: new Uint8Array(8192),
    refused: 'nul_bytes',
  },
  {
    what: 'lines that end in CRLF',
    file: 'crlf.csv',
    content: csv(row('crlf')).replaceAll('\n', '\r\n'),
    bought: ['crlf'],
  },
  {
    what: 'a cut last line',
    file: 'cut.csv',
    content: csv(row('c1'), row('c2')).slice(0, -9),
    refused: 'truncated_tail',
  },
  {
    what: 'an extension that nobody knows',
    file: 'orders.xlsx',
    content: 'PK',
    refused: 'unknown_extension',
  },
  {
    what: 'more than 64 MiB',
    file: 'huge.csv',
    content: (path) => {
      writeFileSync(path, csv(row('h')));
      truncateSync(path, 64 * 1024 * 1024 + 1);
    },
    refused: 'too_large',
  },
  {
    what: 'JSON that is nested 1,000 deep',
    file: 'deep.json',
    content: order('deep', `${'['.repeat(1000)}${']'.repeat(1000)}`),
    refused: 'too_deep',
  },
  {
    what: 'a link to /etc/passwd',
    file: 'link.csv',
    content: (path) => symlinkSync('/etc/passwd', path),
    refused: 'not_a_regular_file',
  },
  {
    what: 'a pipe',
    file: 'pipe.csv',
    content: (path) => void execFileSync('mkfifo', [path]),
    refused: 'not_a_regular_file',
  },
  {
    what: 'a name of 255 bytes',
    file: `${'x'.repeat(251)}.csv`,
    content: csv(row('longname')),
    bought: ['longname'],
  },
  {
    what: 'a name that looks like a way out',
    file: 'a\\..\\..%2f..csv',
    content: csv(row('wayout')),
    bought: ['wayout'],
  },
  {
    what: 'an order id that looks like a way out',
    file: 'escape.csv',
    content: csv(row('../../escape')),
    bought: ['../../escape'],
  },
  {
    what: 'a bad line between good ones',
    file: 'mixed.csv',
    content: csv(row('m1'), row('m2', { quantity: 'two' }), row('m3')),
    refused: ['invalid_field'],
    bought: ['m1', 'm3'],
  },
  {
    what: 'a line twice in one file, the same',
    file: 'again.csv',
    content: csv(row('ag'), row('ag')),
    bought: ['ag'],
  },
  {
    what: 'a line twice in one file, other content',
    file: 'other.csv',
    content: csv(row('ot'), row('ot', { quantity: '9' })),
    refused: ['conflict'],
    bought: ['ot'],
  },
];

let installation: Installation;
/** Files that repeat orders of earlier files. */
const later: readonly BadInput[] = [
  {
    what: 'a line of an earlier file, the same',
    file: 'later-same.csv',
    content: csv(row('mixed-in'), row('bom')),
    bought: ['mixed-in', 'bom'],
  },
  {
    what: 'a line of an earlier file, other content',
    file: 'later-other.json',
    content: order('bom-json', line.replace(':1}', ':7}')),
    refused: ['conflict'],
    bought: ['bom-json'],
  },
  {
    what: 'an earlier file again, under its name',
    file: 'crlf.csv',
    content: csv(row('crlf')).replaceAll('\n', '\r\n'),
    bought: ['crlf'],
  },
];

interface Report {
  readonly file: string;
  readonly code: string;
  readonly next_step: string;
  readonly lines?: readonly { readonly code: string }[];
}
let reports: readonly Report[] = [];

/** Waits until every file is finished, at most a minute: the table then shows which are missing. */
async function settled(enough: (files: readonly string[]) => boolean): Promise<readonly string[]> {
  const until = performance.now() + 60_000;
  for (;;) {
    const rows = installation.query<{ name: string }>(
      "SELECT name FROM files WHERE state IN ('archived', 'rejected') AND error_code IS NOT 'unfinished'",
    );
    const names = rows.map(({ name }) => name);
    if (enough(names) || performance.now() > until) return names;
    await delay(50);
  }
}

beforeAll(async () => {
  installation = await Installation.open();
  const inbox = join(installation.folder, 'inbox');
  mkdirSync(join(inbox, 'folder.csv'));
  const worker = installation.start();
  let wanted = inputs.length;
  const hand = async (some: readonly BadInput[]): Promise<void> => {
    for (const { file, content } of some) {
      const path = join(inbox, file);
      if (typeof content === 'function') content(path);
      else writeFileSync(path, content);
    }
    const files = await settled((found) => found.length >= wanted);
    wanted = files.length + later.length;
  };
  await worker.started();
  await hand(inputs);
  await hand(later);
  const orders = new Set([...inputs, ...later].flatMap(({ bought = [] }) => bought));
  const until = performance.now() + 60_000;
  // Also the CSV results of the order files that are CSV.
  const csvResults = join(installation.folder, 'results/files');
  const isDone = (): boolean =>
    installation.results().size >= orders.size && existsSync(csvResults);
  while (!isDone() && performance.now() < until) await delay(50);
  await worker.end('SIGTERM');
  const rejected = join(installation.folder, 'rejected');
  reports = readdirSync(rejected)
    .filter((name) => name.endsWith('.error.json'))
    .map((name): Report => JSON.parse(readFileSync(join(rejected, name), 'utf8')));
}, 200_000);
afterAll(() => installation.close());

describe('a worker that gets wrong files', () => {
  it.each([...inputs, ...later])(
    '$what gets what it should, and nothing is sent for it',
    ({ file, content, refused, bought = [] }) => {
      const codes = reports
        .filter(
          (report) => report.file === file || (file.length > 200 && report.file.startsWith('xxx')),
        )
        .map((report) =>
          report.code === 'lines_not_accepted'
            ? report.lines?.map(({ code }) => code)
            : report.code,
        );
      expect(codes).toEqual(refused === undefined ? [] : [refused]);
      const sent = installation.query<{ id: string; state: string }>(
        'SELECT order_id AS id, state FROM outbox ORDER BY order_id',
      );
      expect(
        sent
          .filter(({ id, state }) => bought.includes(id) && state === 'fulfilled')
          .map(({ id }) => id),
      ).toEqual(bought.toSorted());
      // Of the orders that this file names, only the expected ones were accepted.
      const named =
        typeof content === 'string'
          ? sent.filter(({ id }) => content.includes(`${id},1,`) && !bought.includes(id))
          : [];
      expect(named.filter(({ id }) => !inputs.some((other) => other.bought?.includes(id)))).toEqual(
        [],
      );
    },
  );

  it('sends each good order to the API once, and nothing else', async () => {
    const bought = new Set([...inputs, ...later].flatMap((input) => input.bought ?? []));
    const outbox = installation.query<{ id: string; reference: string }>(
      'SELECT order_id AS id, reference FROM outbox',
    );
    expect(outbox.map(({ id }) => id).toSorted()).toEqual([...bought].toSorted());
    const ledger = installation.sandbox.ledger();
    expect(ledger.orders.map(({ reference }) => reference ?? '').toSorted()).toEqual(
      outbox.map(({ reference }) => reference).toSorted(),
    );
  });

  it('writes a hint into every report, and moves every file out of the inbox, except the folder', async () => {
    expect(reports.filter((report) => report.next_step.length < 10)).toEqual([]);
    expect(readdirSync(join(installation.folder, 'inbox'))).toEqual(['folder.csv']);
    expect(readdirSync(join(installation.folder, 'work'))).toEqual([]);
    expect(readdirSync(join(installation.folder, 'results')).toSorted()).toEqual([
      'files',
      'folder',
    ]);
  });
});
