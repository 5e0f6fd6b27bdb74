import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openReadOnly } from '../../src/store/sqlite/database.ts';
import { knownInstallation, nowMs, runProgram, type Installation } from './installation.ts';
import { fillOutbox } from './sample-outbox.ts';

const rejected = 'os-kpxngmnkhaycontcxzqnrzgdxp';
const inReview = 'os-6kaxc2lkdkxasrz3ryxnk4zzla';
const pending = 'os-cjrz4rvldsto2jmhrsscc3j6lo';
const why = ['--reason', 'asked by the shop'];

async function filled(): Promise<Installation> {
  const outbox = knownInstallation();
  await fillOutbox(outbox);
  return outbox;
}

async function stateOf(outbox: Installation, reference: string): Promise<string | undefined> {
  const { stdout } = await outbox.run('orders', 'show', reference, '--json');
  const shown: { entries: { reference: string; state: string }[] } = JSON.parse(stdout);
  return shown.entries.find((entry) => entry.reference === reference)?.state;
}

describe('deciding on an entry while no worker runs', () => {
  it('prints the change of state, and makes it', async () => {
    const outbox = await filled();
    const said = async (...argv: string[]) => (await outbox.run('orders', ...argv, ...why)).stdout;
    expect(await said('hold', pending)).toBe(`${pending}: pending -> held\n`);
    expect(await said('release', pending)).toBe(`${pending}: held -> pending\n`);
    expect(await said('cancel', pending)).toBe(`${pending}: pending -> cancelled\n`);
    expect(await said('retry', inReview)).toBe(`${inReview}: needs_review -> unknown\n`);
    expect(await said('retry', inReview)).toBe(`${inReview} stays unknown, and is due now\n`);
    expect(await said('reorder', rejected, '--confirm', rejected)).toMatch(
      /^os-kpxngmnkhaycontcxzqnrzgdxp is ordered again as os-[a-z2-7]{26}\n$/,
    );
    expect(await stateOf(outbox, pending)).toBe('cancelled');
  });

  it('shows with the order who decided what and why, and nothing about other orders', async () => {
    const outbox = await filled();
    await outbox.run('orders', 'hold', pending, ...why);
    await outbox.run('orders', 'release', pending, '--reason', 'the shop called again');
    await outbox.run('orders', 'retry', inReview, ...why);
    const { audit } = JSON.parse((await outbox.run('orders', 'show', pending, '--json')).stdout);
    expect(audit).toMatchObject([
      { action: 'hold', subject: pending, reason: 'asked by the shop' },
      { action: 'release', subject: pending, reason: 'the shop called again' },
    ]);
    expect((await outbox.run('orders', 'show', pending)).stdout).toMatch(
      /Decided\n +2026-11-21 12:00:00Z +cli:\S+ +hold os-\w+: asked by the shop\n/,
    );
  });

  it('keeps its JSON contract', async () => {
    const outbox = await filled();
    const order = [
      'resolve',
      inReview,
      '--as',
      'fulfilled',
      '--order-number',
      'E-7',
      '--no-units',
      '--json',
    ];
    expect(JSON.parse((await outbox.run('orders', ...order, ...why)).stdout)).toEqual({
      reference: inReview,
      before: 'needs_review',
      after: 'fulfilled',
      new_reference: null,
    });
  });

  it('ends with 5 for an action that is not allowed, and names the state and the allowed actions', async () => {
    const outbox = await filled();
    expect(await outbox.run('orders', 'cancel', inReview, ...why)).toEqual({
      code: 5,
      stdout: '',
      stderr: `order-sync: ${inReview} is needs_review and may have been bought, so the entry cannot be changed by cancel\nWhat to do: what can be done: retry, resolve\n`,
    });
    expect((await outbox.run('orders', 'reorder', rejected, ...why)).stderr).toContain(
      `--confirm ${rejected}`,
    );
    expect(await stateOf(outbox, inReview)).toBe('needs_review');
  });

  it('ends with 4 for an unknown reference, and with 2 without a reason or a final state', async () => {
    const outbox = await filled();
    expect((await outbox.run('orders', 'hold', 'os-nobody', ...why)).code).toBe(4);
    expect((await outbox.run('orders', 'hold', pending)).code).toBe(2);
    expect((await outbox.run('orders', 'hold', pending, '--reason', 'x')).code).toBe(2);
    expect((await outbox.run('orders', 'resolve', inReview, '--as', 'lost', ...why)).code).toBe(2);
    expect((await outbox.run('orders', 'retry', ...why)).code).toBe(2);
    expect(await stateOf(outbox, pending)).toBe('pending');
  });

  it('retries every entry in a state, after it has printed how many', async () => {
    const outbox = await filled();
    const preview = await outbox.run('orders', 'retry', '--state', 'needs_review');
    expect(preview.stdout).toBe(
      `1 entries match (1 needs_review) and would be retried; do it with --yes\n1 order, 1 line of unknown cost, the oldest for 59 min 58 s\nThe first 1 of them:\n  ${inReview}\n`,
    );
    expect(await stateOf(outbox, inReview)).toBe('needs_review');
    const { stdout } = await outbox.run(
      'orders',
      'retry',
      '--state',
      'needs_review',
      '--yes',
      ...why,
    );
    expect(stdout).toBe('1 of 1 are retried\n');
    expect(await stateOf(outbox, inReview)).toBe('unknown');
  });

  it('acts on what a filter finds, and on nothing else', async () => {
    const outbox = await filled();
    const held = await outbox.run('orders', 'hold', '--source', 'shop1', '--yes', '--json', ...why);
    const { matched, changed, refused, left } = JSON.parse(held.stdout);
    expect([changed.includes(pending), refused, left]).toEqual([true, [], 0]);
    expect(matched).toBe(changed.length);
    expect(await stateOf(outbox, inReview)).toBe('needs_review');
    expect((await outbox.run('orders', 'release', '--code', 'none', '--yes', ...why)).stdout).toBe(
      '0 of 0 are released\n',
    );
    expect((await outbox.run('orders', 'release', '--code', 'held', '--yes', ...why)).code).toBe(0);
    expect(await stateOf(outbox, pending)).toBe('pending');
  });

  it('orders again what the filter finds, for the number that it showed', async () => {
    const outbox = await filled();
    const order = ['orders', 'reorder', '--code', 'invalid_variant'];
    const shown = await outbox.run(...order);
    expect(shown.stdout).toMatch(
      /^1 entries match \(1 rejected\) and would be ordered again; do it with --confirm 1\n1 order, 1 line of unknown cost, the oldest for /,
    );
    expect(await outbox.run(...order, '--confirm', '2', ...why)).toMatchObject({
      code: 5,
      stderr: expect.stringContaining(
        '1 entry would be ordered again: confirm with 1, not with "2"',
      ),
    });
    expect((await outbox.run(...order, '--confirm', '1')).code).toBe(2);
    expect((await outbox.run(...order, '--remap', ...why)).code).toBe(2);
    const report: { changed: string[] } = JSON.parse(
      (await outbox.run(...order, '--confirm', '1', '--json', ...why)).stdout,
    );
    expect(report).toEqual({
      action: 'reorder',
      matched: 1,
      changed: [rejected],
      refused: [],
      left: 0,
    });
    expect((await outbox.run(...order)).stdout).toBe('no entries match\n');
  });

  it('does nothing without --yes, and takes a reference or a filter, never both or neither', async () => {
    const outbox = await filled();
    expect(
      (await outbox.run('orders', 'hold', '--state', 'pending', '--yes', '--dry-run')).stdout,
    ).toContain('do it with --yes');
    expect((await outbox.run('orders', 'hold', '--state', 'pending')).code).toBe(0);
    expect(await stateOf(outbox, pending)).toBe('pending');
    expect((await outbox.run('orders', 'hold', '--state', 'pending', '--yes')).code).toBe(2);
    expect((await outbox.run('orders', 'hold', pending, '--state', 'pending', ...why)).code).toBe(
      2,
    );
    expect((await outbox.run('orders', 'hold', ...why)).code).toBe(2);
    // In none of these states anything can be held.
    expect((await outbox.run('orders', 'hold', '--state', 'fulfilled', '--yes', ...why)).code).toBe(
      2,
    );
  });
});

describe('pausing a scope', () => {
  // One entry of steam-10 is to be sent, and none of an eSIM.
  const scopes: readonly [string, number][] = [
    ['family:esim', 0],
    ['variant:steam-10', 1],
    [`plan:${'p'.repeat(128)}`, 0],
  ];
  it.each(scopes)(
    'lasts until somebody resumes it, and is shown with what it holds up: %s',
    async (scope, heldUp) => {
      const outbox = await filled();
      const stop = ['queue', 'pause', scope, ...why];
      expect((await outbox.run(...stop)).stdout).toBe(`${scope} is paused until it is resumed\n`);
      expect((await outbox.run('queue', 'status')).stdout).toMatch(
        new RegExp(
          `${scope} +2026-11-21 12:00:00Z +cli:\\S+ +${heldUp === 0 ? '0' : '1 order, .*'} +manual: asked by the shop`,
        ),
      );
      expect((await outbox.run(...stop)).code).toBe(5);
      expect(
        JSON.parse((await outbox.run('queue', 'resume', scope, '--json', ...why)).stdout),
      ).toEqual({
        scope,
        paused: false,
      });
      expect((await outbox.run('queue', 'resume', scope, ...why)).code).toBe(5);
    },
  );

  it('takes over a pause of the worker, and refuses a scope that names nothing', async () => {
    const outbox = await filled();
    expect((await outbox.run('queue', 'pause', 'balance:EUR', ...why)).code).toBe(0);
    for (const scope of [
      'everything',
      'family:book',
      'balance:usd',
      'key:nobody',
      'account:',
      'variant:',
      'plan',
    ]) {
      expect([scope, (await outbox.run('queue', 'pause', scope, ...why)).code]).toEqual([scope, 2]);
    }
  });
});

describe('order-sync submit', () => {
  const order = (quantity: number, variant = 'steam-usd-5') => ({
    source: 'shop1',
    order_id: '2001',
    currency: 'USD',
    lines: [{ line_id: '1', type: 'gift_card_order', variant, quantity }],
  });
  const write = (outbox: Installation, name: string, content: unknown): string => {
    const path = join(outbox.folder, name);
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  };

  it('prints the references, and the same ones for the same orders', async () => {
    const outbox = await filled();
    const file = write(outbox, 'orders.json', order(2));
    const first = await outbox.run('submit', file);
    expect(first.stdout).toMatch(
      /^SOURCE {2}ORDER {2}LINE {2}STATUS {4}REFERENCE\nshop1 {3}2001 {3}1 {5}accepted {2}os-[a-z2-7]{26}\n$/,
    );
    const again = JSON.parse((await outbox.run('submit', file, '--json')).stdout);
    expect(again).toMatchObject({ lines: [{ status: 'known', order_id: '2001', line_id: '1' }] });
    expect(first.stdout).toContain(again.lines[0].reference);
  });

  it('reads CSV as the watched folder does: by the rows of the whole file, the columns that are there, and the SKU map', async () => {
    const outbox = await filled();
    const several = write(
      outbox,
      'several.csv',
      'order_id,variant,currency\n1,v,USD\n2,v,USD\n1,v,USD\n',
    );
    const refusal = await outbox.run('submit', several);
    expect([refusal.code, refusal.stderr]).toEqual([
      5,
      expect.stringMatching(/line 2.*line_id.*line 4.*line_id/s),
    ]);
    const mistyped = await outbox.run(
      'submit',
      write(outbox, 'mistyped.csv', 'order_id;varaint;curency\n1;v;USD\n'),
    );
    expect([mistyped.code, mistyped.stderr]).toEqual([
      5,
      expect.stringMatching(/did you mean variant.*did you mean currency/s),
    ]);
    const map = write(
      outbox,
      'skus.yaml',
      'skus: { S20: { type: gift_card_order, variant: steam-usd-20, wait_h: 2 } }',
    );
    const keys = { name: 'folder', sku_map: map, currency: 'USD' };
    const settings = Object.entries(keys).flatMap(([key, value]) => [
      '--set',
      `intake.folders.0.${key}=${value}`,
    ]);
    const skus = write(outbox, 'skus.csv', 'order_id,sku\n7,S20\n');
    const { stdout } = await outbox.run('submit', skus, '--json', ...settings);
    expect(JSON.parse(stdout)).toMatchObject({
      lines: [{ status: 'accepted', order_id: '7', line_id: '1' }],
    });
    const database = openReadOnly(join(outbox.dataDir, 'order-sync.db'));
    onTestFinished(() => void database.close());
    const deadline = database.prepare<[], number>(
      "SELECT not_after_ms FROM entries WHERE variant = 'steam-usd-20'",
    );
    expect(deadline.pluck().all()).toContain(nowMs + 2 * 3_600_000);
  });

  it('ends with 5 for a known line with other content, and for lines that cannot be accepted', async () => {
    const outbox = await filled();
    await outbox.run('submit', write(outbox, 'orders.json', order(2)));
    const conflict = await outbox.run('submit', write(outbox, 'again.json', order(3)));
    expect(conflict.code).toBe(5);
    expect(conflict.stdout).toContain(
      '2001/1 was ordered before with other content (quantity: 2 then, 3 now)',
    );
    const wrong = write(
      outbox,
      'wrong.ndjson',
      `${JSON.stringify({ ...order(1), order_id: '3001' })}\n${JSON.stringify({ ...order(0), order_id: '3002' })}\n`,
    );
    const refusal = await outbox.run('submit', wrong);
    expect(refusal.code).toBe(5);
    expect(refusal.stderr).toContain('order 3002, line_id 1');
    // Nothing was submitted in part.
    expect((await outbox.run('orders', 'show', '3001')).code).toBe(4);
    expect((await outbox.run('submit', join(outbox.folder, 'none.json'))).code).toBe(4);
    expect((await outbox.run('submit', write(outbox, 'orders.doc', ''))).code).toBe(2);
  });
});

describe('the units that an operator enters', () => {
  const order = [
    'orders',
    'resolve',
    inReview,
    '--as',
    'fulfilled',
    '--order-number',
    'E-7',
    ...why,
  ];
  const activation = 'LPA:1$smdp.example.com$ABCD-EFGH-1234';

  async function unitsOf(outbox: Installation): Promise<unknown> {
    const { stdout } = await outbox.run('orders', 'show', inReview, '--json');
    const shown: { entries: { reference: string; unit_count: number; state: string }[] } =
      JSON.parse(stdout);
    return shown.entries.flatMap((entry) =>
      entry.reference === inReview ? [entry.state, entry.unit_count] : [],
    );
  }

  it('are read from a file', async () => {
    const outbox = await filled();
    const file = join(outbox.folder, 'units.txt');
    writeFileSync(file, `\n  ${activation}  \r\n`);
    expect((await outbox.run(...order, '--units', file)).stdout).toBe(
      `${inReview}: needs_review -> fulfilled\n`,
    );
    expect(await unitsOf(outbox)).toEqual(['fulfilled', 1]);
  });

  it('are read from standard input, as JSON', async () => {
    const outbox = await filled();
    const argv = [...order, '--units', '-', '--config', outbox.configFile];
    const { code, stdout } = await runProgram(
      argv,
      {},
      JSON.stringify([{ lpa: activation, iccid: '8988211000000000001' }]),
    );
    expect([code, stdout]).toEqual([0, `${inReview}: needs_review -> fulfilled\n`]);
    expect(await unitsOf(outbox)).toEqual(['fulfilled', 1]);
  });

  it.each([
    ['no such file', null, 4, 'There is no file'],
    ['nothing', '\n', 2, 'no units were entered'],
    ['an unfinished list', '[{"lpa":"SECRET"', 2, 'must be a JSON list'],
    ['an unknown field', '[{"kode":"SECRET"}]', 2, 'unit 1 has an unknown field: kode'],
    ['a number', '[{"code":12345678}]', 2, 'unit 1, code, must be text'],
    ['no field', '[{}]', 2, 'unit 1 must have at least one field'],
    ['a control character', 'SECRET\u0007', 2, 'unit 1, code, must not contain control characters'],
    ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x53]), 2, 'is not text in UTF-8'],
    ['too much', 'SECRET\n'.repeat(80_000), 2, 'has more than'],
    ['a code for an eSIM', 'SECRET', 5, '1 of the 1 units do not look like units of this order'],
  ])(
    'are refused when the file has %s, without showing them',
    async (_what, content, code, says) => {
      const outbox = await filled();
      const file = join(outbox.folder, 'units.txt');
      if (content !== null) writeFileSync(file, content);
      const refused = await outbox.run(...order, '--units', file);
      expect([refused.code, refused.stdout]).toEqual([code, '']);
      expect(refused.stderr).toContain(says);
      expect(refused.stderr).not.toMatch(/SECRET|12345678/);
      expect(await unitsOf(outbox)).toEqual(['needs_review', 0]);
    },
  );
});
