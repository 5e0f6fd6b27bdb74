import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'csv-parse/sync';
import { afterEach, describe, expect, it } from 'vitest';
import { runHere } from '../cli/installation.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { foreignAnswer } from '../support/foreign-answer.ts';
import { deliveredCodes } from '../support/secret-search.ts';
import { Installation } from '../support/worker-process.ts';

let place: Installation;
afterEach(() => place.close());

type Row = Record<string, string>;

const rowsOf = (text: string, delimiter = ','): Row[] =>
  parse<Row>(text, { columns: true, bom: true, delimiter, skip_empty_lines: true });

/** Waits for what the worker writes; a deadline of its own shows the last state. */
async function until<T>(read: () => T | undefined | false, what: string): Promise<T> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const found = read();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline)
      throw new Error(`${what} never came: ${JSON.stringify([...place.csvResults()])}`);
    await delay(20);
  }
}

const written = (prefix: string): Promise<[string, string]> =>
  until(
    () => [...place.csvResults()].find(([name]) => name.startsWith(prefix)),
    `the result of ${prefix}`,
  );

const cli = async (...argv: string[]): Promise<string> => {
  const { code, stdout, stderr } = await runHere(
    [...argv, '--config', place.configFile],
    new SystemClock(),
  );
  if (code !== 0) throw new Error(stderr);
  return stdout;
};

describe('a CSV order file', () => {
  it('comes back with its own rows, columns and separator, and what became of each row', async () => {
    place = await Installation.open();
    const worker = place.start();
    await worker.started();
    // A refusal counts only after a lookup has found an order.
    place.drop('first.csv', 'order_id,variant,quantity,currency\n1000,steam-usd-5,1,USD\n');
    await worker.line(({ msg }) => msg.startsWith('lookups work'));
    const text = [
      '\uFEFFOrder ID;Variant;Plan;Quantity;Currency;Note',
      '1001;steam-usd-5;;2;USD;=1+1',
      ';;;;;',
      '1002;;test-plan-fixed;1;USD;"two',
      'lines; and a separator"',
      '1003;steam-usd-5;;no number;USD;wrong',
      '1004;test-refused;;1;USD;-5',
      '',
    ].join('\r\n');
    place.drop('orders of today.csv', text);
    const [name, result] = await written('orders_of_today.csv.');
    expect(name).toMatch(/^orders_of_today\.csv\.[0-9A-Z]{26}\.csv$/);
    expect(statSync(join(place.folder, 'results', 'files', name)).mode & 0o777).toBe(0o600);
    expect(
      result.startsWith('\uFEFFOrder ID;Variant;Plan;Quantity;Currency;Note;result_state;'),
    ).toBe(true);
    const [cards, blank, esim, wrong, refused] = rowsOf(result, ';');
    expect(new Set(Object.values(blank ?? {}))).toEqual(new Set(['']));
    const codes = deliveredCodes(place).filter(
      (code) => result.includes(code) && !esim?.['result_lpa']?.includes(code),
    );
    expect(cards).toMatchObject({
      'Order ID': '1001',
      Note: "'=1+1",
      result_state: 'fulfilled',
      result_currency: 'USD',
      result_error_code: '',
    });
    expect(codes).toHaveLength(2);
    expect(cards?.['result_code']?.split(' ; ').toSorted()).toEqual(codes.toSorted());
    expect(esim).toMatchObject({
      Note: 'two\r\nlines; and a separator',
      result_state: 'fulfilled',
      result_code: '',
    });
    expect(esim?.['result_lpa']).toMatch(/^LPA:1\$/);
    expect(esim?.['result_iccid']).toMatch(/^\d{19}/);
    expect(wrong).toMatchObject({
      'Order ID': '1003',
      result_state: 'rejected',
      result_error_code: 'invalid_field',
    });
    expect(wrong?.['result_error_message']).toContain('must be a whole number');
    expect(refused, result).toMatchObject({
      'Order ID': '1004',
      Note: "'-5",
      result_state: 'rejected',
    });
    expect(refused?.['result_error_code']).not.toBe('');
    // Sent again as it came back, it buys nothing, and its columns are those of the first result.
    place.drop('again.csv', result);
    const [, again] = await written('again.csv.');
    expect(rowsOf(again, ';').map((row) => row['result_reference'])).toEqual(
      rowsOf(result, ';').map((row) => row['result_reference']),
    );
    expect(again.split('\r\n')[0]).toBe(result.split('\r\n')[0]);
    expect(place.sandbox.ledger().orders).toHaveLength(3);
    await worker.end('SIGTERM');
  });

  it('is written while a row needs review, and again when that is decided', async () => {
    place = await Installation.open({ sandbox: { faults: [foreignAnswer] } });
    const worker = place.start();
    await worker.started();
    place.drop(
      'mixed.csv',
      'order_id,variant,quantity,currency\n1,steam-usd-5,1,USD\n2,test-other-reference,1,USD\n',
    );
    const [name, first] = await written('mixed.csv.');
    const [, row] = rowsOf(first);
    expect(row).toMatchObject({ result_state: 'needs_review', result_code: '' });
    const units = join(place.folder, 'units.txt');
    writeFileSync(units, '-AB-1\n');
    const decision = ['--as', 'fulfilled', '--units', units, '--note', 'seen', '--reason', 'seen'];
    await cli('orders', 'resolve', row?.['result_reference'] ?? '', ...decision);
    const [, after] = rowsOf(
      await until(() => {
        const now = place.csvResults().get(name);
        return now !== undefined && now !== first && now;
      }, 'the decided row'),
    );
    expect(after).toMatchObject({ result_state: 'fulfilled', result_code: '-AB-1' });
    // Both files of one name have a result.
    place.drop('mixed.csv', 'order_id,variant,quantity,currency\n3,steam-usd-5,1,USD\n');
    await until(() => place.csvResults().size === 2, 'the second file');
    await worker.end('SIGTERM');
  });

  it('is given up, and flagged, when the archive does not have it any more, or has another file', async () => {
    place = await Installation.open();
    // A file there, in place of the folder: nothing can be written.
    mkdirSync(join(place.folder, 'results'));
    writeFileSync(join(place.folder, 'results', 'files'), '');
    const worker = place.start();
    await worker.started();
    const header = 'order_id,variant,quantity,currency\n';
    place.drop('gone.csv', `${header}1,steam-usd-5,1,USD\n`);
    await worker.line(
      ({ msg, file }) => msg === 'a result could not be delivered' && file === 'gone.csv',
    );
    place.drop('changed.csv', `${header}2,steam-usd-5,1,USD\n`);
    const archived = (name: string) =>
      readdirSync(join(place.folder, 'archive'), { recursive: true, encoding: 'utf8' })
        .map((path) => join(place.folder, 'archive', path))
        .find((path) => path.endsWith(`__${name}`));
    await worker.end('SIGKILL');
    rmSync(join(place.folder, 'results', 'files'));
    const last = place.start();
    await last.started();
    const changed = await until(() => archived('changed.csv'), 'the archived file');
    await last.end('SIGKILL');
    for (const [name] of place.csvResults()) rmSync(join(place.folder, 'results', 'files', name));
    writeFileSync(changed, `${header}2,steam-usd-5,9,USD\n`);
    rmSync((await until(() => archived('gone.csv'), 'the other file')) ?? '');
    const third = place.start();
    await third.started();
    await cli('results', 'rewrite', '--sink', 'folder', '--yes', '--reason', 'test');
    const attention = () =>
      place.query<{ id: string; message: string }>(
        "SELECT id, message FROM outbox_attention WHERE id LIKE 'delivery:%:csv' ORDER BY evidence ->> 'file'",
      );
    await until(() => attention().length === 2, 'both rows of the attention list');
    const messages = attention().map(({ message }) => message);
    expect(messages[0]).toContain('is not the file that was taken in: its SHA-256 differs');
    expect(messages[1]).toContain('is not in the archive');
    expect(place.csvResults().size).toBe(0);
    await cli('orders', 'ack', ...attention().map(({ id }) => id), '--reason', 'seen');
    expect(attention()).toEqual([]);
    await third.end('SIGTERM');
  });
});
