import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { keepAnswer } from '../../src/store/entries/kept-answers.ts';
import { installation, knownInstallation, sandboxConfig } from './installation.ts';
import { openOutbox } from './sample-outbox.ts';

describe('order-sync wire', () => {
  it('prints the mapping in use as a config section, which it can read again', async () => {
    const first = await installation().run('wire');
    expect(first.code).toBe(0);
    const { wholesale } = parse(first.stdout);
    const copied = installation((folder) =>
      sandboxConfig(folder).replace(
        'wholesale:',
        `wholesale:\n  wire: ${JSON.stringify(wholesale.wire)}`,
      ),
    );
    expect(await copied.run('wire')).toEqual(first);
    const json = await copied.run('wire', '--json');
    expect(JSON.parse(json.stdout)).toEqual(wholesale.wire);
  });

  it('ends with 3 for an invalid mapping', async () => {
    expect((await installation().run('wire', '--set', 'wholesale.wire.nonsense=1')).code).toBe(3);
  });
});

describe('order-sync wire test', () => {
  const folderWith = (answer: unknown) => {
    const own = installation();
    const file = join(own.folder, 'answer.json');
    writeFileSync(file, JSON.stringify(answer));
    return { own, file };
  };
  const order = {
    data: {
      order_number: 77,
      state: 'completed',
      total: '18.90',
      items: [{ label: 'Steam', codes: [{ code: 'QWER-7KQ2-1', extra_part: 'SECRET-4711' }] }],
    },
  };
  const withIgnored = ['--set', 'wholesale.wire.ignored=[extra_part]'];

  it('says what each value is read as, and ends with 8 while something of a unit is unread', async () => {
    const { own, file } = folderWith(order);
    const { code, stdout } = await own.run('wire', 'test', file);
    expect(code).toBe(8);
    expect(stdout).toContain('not read of a unit: extra_part');
    expect(stdout).toMatch(/data\.items\[0\]\.codes\[0\]\.code +QWER-7KQ2-1 +units\[0\]\.code/);
    expect(stdout).toMatch(/extra_part +SECRET-4711 +not read/);
    const mapped = await own.run(
      'wire',
      'test',
      file,
      '--json',
      '--set',
      'wholesale.wire.answer.codes.pin=[extra_part]',
    );
    expect(mapped.code).toBe(0);
    expect(JSON.parse(mapped.stdout)).toMatchObject({
      family: 'gift_card',
      row: 'accepted',
      read: {
        order_number: '77',
        cost: '18.90',
        'units[0].code': 'QWER-7KQ2-1',
        'units[0].pin': 'SECRET-4711',
      },
      problems: [],
    });
    expect((await own.run('wire', 'test', file, ...withIgnored)).code).toBe(0);
  });

  it('says what is lost with each value that is not read, and ends with 8 while an amount may be the cost', async () => {
    const codes = [{ code: 'QWER-7KQ2-1' }];
    const { own, file } = folderWith({ codes, charged_amount: '18.90' });
    const unread = await own.run('wire', 'test', file);
    expect(unread.code).toBe(8);
    for (const text of [
      'not read: order_number: you cannot tell',
      'not read: reference: an answer for another order',
      'not read: cost: spending is not counted',
      'not read: currency: the cost is counted in',
      'to correct: is charged_amount the cost? If so, map it in `answer.cost`',
    ])
      expect(unread.stdout).toContain(text);
    const cost = 'wholesale.wire.answer.cost=[charged_amount]';
    const mapped = await own.run('wire', 'test', file, '--set', cost);
    expect(mapped.code).toBe(0);
    expect(mapped.stdout).not.toContain('not read: cost');
    writeFileSync(file, JSON.stringify({ codes }));
    expect((await own.run('wire', 'test', file)).code).toBe(0);
  });

  it('reads errors and lookups, and says what it is not', async () => {
    const { own, file } = folderWith({ error: { code: 'out_of_stock', message: 'None left' } });
    expect(JSON.parse((await own.run('wire', 'test', file, '--json')).stdout)).toMatchObject({
      kind: 'error',
      http: 409,
      row: 'out_of_stock',
      problems: [],
    });
    writeFileSync(file, JSON.stringify({ error: { code: 'SOLD', message: 'no' } }));
    expect((await own.run('wire', 'test', file)).code).toBe(8);
    writeFileSync(
      file,
      JSON.stringify({ orders: [{ reference: 'os-1', number: 5, codes: ['QWER-7KQ2-1'] }] }),
    );
    const lookup = await own.run('wire', 'test', file, '--for', 'lookup', '--json');
    expect(JSON.parse(lookup.stdout)).toMatchObject({
      read: { order_number: '5', 'units[0].code': 'QWER-7KQ2-1' },
    });
    writeFileSync(file, '{"a":');
    expect((await own.run('wire', 'test', file)).code).toBe(2);
    expect((await own.run('wire', 'test')).code).toBe(2);
  });

  it('reads the last answer that was kept', async () => {
    const own = knownInstallation();
    await own.run('init');
    expect((await own.run('wire', 'test', '--last', 'submit')).code).toBe(4);
    await openOutbox(own).close();
    const database = new SqliteDatabase(join(own.dataDir, 'order-sync.db'));
    const body = JSON.stringify({ number: 'W-1', codes: [{ code: 'AAAA-9', second: '999' }] });
    keepAnswer(database, {
      kind: 'submit',
      isError: false,
      attemptId: null,
      http: 201,
      body,
      nowMs: 1,
    });
    database.close();
    const { code, stdout } = await own.run('wire', 'test', '--last', 'submit');
    expect(code).toBe(8);
    expect(stdout).toContain('not read of a unit: second');
  });
});

describe('a mapping that cannot match', () => {
  it.each([
    ['wholesale.wire.answer.codes.lists=[products.0.keys]', 'must not have a list index'],
    ['wholesale.wire.answer.codes.code=["items[].pin"]', 'must not contain a list'],
    [
      'wholesale.wire.headers.Host=x',
      'headers.Host must be a header that the worker does not set itself',
    ],
    ['wholesale.wire.headers.Note=x {reference}', 'must be a fixed text, or only {reference}'],
    [
      'wholesale.wire.gift_card_order.body={reference: "{reference}", quantity: "{quantity}", sku: "{variantt}"}',
      'must be one of {variant}, {reference}',
    ],
    [
      'wholesale.wire.gift_card_order.body={reference: "{reference}", quantity: "{quantity}", variant: "off"}',
      'must have {variant} once',
    ],
    [
      'wholesale.wire.gift_card_order.body={reference: "{reference}", quantity: "{quantity}", note: "x {variant}"}',
      'has a placeholder in a longer text',
    ],
    [
      'wholesale.wire.lookup.gift_card=/orders/{key}',
      'must be `off`, or a map such as { path: "/orders/{key}" }',
    ],
    [
      'wholesale.wire.lookup.gift_card={pathh: /orders/1}',
      'pathh is no key of this version; did you mean "path"?',
    ],
    [
      'wholesale.wire.lookup.gift_card={path: /orders/1}',
      'must name the order, with {key} in path or body',
    ],
    ['wholesale.wire.answer.money_minor_digits={usd: 2}', 'must be a currency or `other`'],
    [
      'wholesale.wire.answer.codes.code=[security, pin]',
      'must not have "pin" in `code` and in `pin`',
    ],
    ['wholesale.wire.answer.reference=[id]', 'must not have "id" in `number` and in `reference`'],
    [
      'wholesale.wire.answer.status_words.done=[Processing]',
      'must not have "Processing" in `done` and in `pending`',
    ],
  ])('is refused, and says why: %s', async (flag, message) => {
    const { code, stderr } = await installation().run('check-config', '--set', flag);
    expect(code).toBe(3);
    expect(stderr).toContain(message);
  });

  it('is refused at its line, with what was meant', async () => {
    const wire =
      '  wire:\n    anser: {}\n    answer:\n      codes:\n        code: pin\n        list: [x]\n';
    const { folder, run } = installation((own) =>
      `${sandboxConfig(own)}\n`.replace(/^wholesale:\n/m, `$&${wire}`),
    );
    const { code, stderr } = await run('check-config');
    expect(code).toBe(3);
    const first =
      readFileSync(join(folder, 'order-sync.yaml'), 'utf8').split('\n').indexOf('    anser: {}') +
      1;
    expect(stderr.match(/order-sync\.yaml:\d+:\d+ .*/g)).toEqual([
      `order-sync.yaml:${first}:5 wholesale.wire.anser is no key of this version; did you mean "answer"?`,
      `order-sync.yaml:${first + 3}:15 wholesale.wire.answer.codes.code must be a list, got "pin" (string)`,
      `order-sync.yaml:${first + 4}:9 wholesale.wire.answer.codes.list is no key of this version; did you mean "lists"?`,
    ]);
  });
});
