import { describe, expect, it, onTestFinished } from 'vitest';
import { line, fillOutbox, openOutbox } from '../../cli/sample-outbox.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { installation, nowMs, type Installation } from '../../cli/installation.ts';
import { act, outOfStock, settle, standingIn } from '../../support/operator.ts';
import { line as cardLine, Outbox } from '../../support/outbox.ts';
import { stepsOf } from '../../support/steps.ts';
import { operatorToken, startPages, viewerToken } from './running-pages.ts';

const local = { settings: { tokens: [] } };
const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`;

/** An outbox with orders of a shop whose texts are HTML. */
async function fillWithHtml(place: Installation): Promise<void> {
  const store = openOutbox(place);
  const lines = [
    line('A&B/1', '1', {
      variant: 'steam-10',
      quantity: 1,
      metadata: { note: evil },
      extra: { column: evil },
    }),
  ];
  const rejection = {
    lineNumber: 1,
    source: 'shop1',
    orderId: 'A&B/1',
    lineId: evil,
    code: 'invalid_field',
    field: evil,
  };
  const rejections = [{ ...rejection, rule: evil, value: evil }];
  await store.intake.acceptBatch({ nowMs, fileId: null, lines, rejections });
  await store.operator.pauseScope({ scope: 'account', actor: evil, reason: evil, nowMs });
  await store.close();
}

/** Thirty lines of three shops with the same mistake, and one with another. */
async function fillWithRefused(place: Installation): Promise<void> {
  const store = openOutbox(place);
  const refused = {
    lineNumber: 1,
    lineId: '1',
    field: 'sku',
    rule: 'is not in the SKU map',
    value: 'X',
  };
  const rejections = Array.from({ length: 30 }, (_, index) => {
    return {
      ...refused,
      source: `shop${index % 3}`,
      orderId: String(index),
      code: 'unknown_sku' as const,
    };
  });
  const other = { ...refused, source: 'shop1', orderId: 'other', code: 'invalid_field' as const };
  await store.intake.acceptBatch({
    nowMs,
    fileId: null,
    lines: [],
    rejections: [...rejections, other],
  });
  await store.close();
}

async function acceptOrders(
  place: Installation,
  ids: readonly string[],
  metadata = {},
): Promise<void> {
  const store = openOutbox(place);
  const lines = ids.map((id) => line(id, '1', { variant: 'steam-10', quantity: 1, metadata }));
  await store.intake.acceptBatch({ nowMs, fileId: null, lines, rejections: [] });
  await store.close();
}

const fillMany = (place: Installation): Promise<void> =>
  acceptOrders(
    place,
    Array.from({ length: 450 }, (_, index) => String(index + 1)),
  );

const hrefOf = (text: string, rel: string): string =>
  new RegExp(`href="([^"]+)" rel="${rel}"`).exec(text)?.[1]?.replaceAll('&amp;', '&') ?? '';

describe('the pages', () => {
  it('begin with the state, then the charts with their numbers, what needs an operator and what is paused', async () => {
    const { ask } = await startPages(local);
    const { text } = await ask('/');
    const titles = ['Bought today (UTC)', 'Spent today (UTC)', 'Waiting', 'Needs you', 'Paused'];
    const places = ['aria-label="State"', ...titles.map((title) => `>${title}</h2>`)].map((shown) =>
      text.indexOf(shown),
    );
    expect(places.every((place) => place > 0)).toBe(true);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(text).toMatch(
      /The EUR balance is too low<[\s\S]*?balance:EUR<[\s\S]*?What to do:[\s\S]*?top up at the supplier/i,
    );
    expect(text).toMatch(/<th scope="row">11:00<\/th><td>19<\/td>/);
    expect(text).toContain('class="environment sandbox"');
  });

  it('begin with the checks that do not pass, and what to do first', async () => {
    const { ask } = await startPages({
      ...local,
      sources: { troubles: async () => ['The disk is <full>: free space.'] },
    });
    expect((await ask('/')).text).toMatch(
      /<p class="warning">The disk is &lt;full&gt;: free space\.<\/p>[\s\S]*class="answers"/,
    );
  });

  it('find orders by state, shop and text, and keep the filter in the address', async () => {
    const { ask } = await startPages(local);
    const ordersIn = async (path: string) =>
      [...(await ask(path)).text.matchAll(/<td[^>]*><a href="\/orders\/shop1\/(\d+)"/g)].map(
        (match) => match[1],
      );
    expect(await ordersIn('/orders')).toEqual(['1003', '1002', '1001']);
    expect(await ordersIn('/orders?state=needs_review')).toEqual(['1002']);
    expect(await ordersIn('/orders?search=1003')).toEqual(['1003']);
    expect(await ordersIn('/orders?source=other')).toEqual([]);
    expect((await ask('/orders?state=needs_review')).text).toMatch(
      /aria-current="true"><span class="badge is-problem">needs review<\/span> <span class="number">1</,
    );
  });

  it('find orders by product and day, and sort them, with all of it in the address', async () => {
    const { ask } = await startPages({ ...local, fill: fillMany });
    const open = async (path: string) => (await ask(path)).text;
    const ordersIn = (text: string) =>
      [...text.matchAll(/<td[^>]*><a href="\/orders\/shop1\/(\d+)"/g)].map((match) => match[1]);
    expect(
      ordersIn(await open('/orders?product=steam-10&from=2026-11-21&to=2026-11-21')),
    ).toHaveLength(50);
    for (const none of ['product=steam-1', 'from=2026-11-22', 'to=2026-11-20'])
      expect(await open(`/orders?${none}`)).toContain('No order fits this filter.');
    const oldest = await open('/orders?sort=oldest&from=2026-11-21&product=steam-10');
    expect(ordersIn(oldest).slice(0, 2)).toEqual(['1', '2']);
    const next = hrefOf(oldest, 'next');
    expect(next).toBe('/orders?sort=oldest&from=2026-11-21&product=steam-10&before=50');
    expect(ordersIn(await open(next)).slice(0, 2)).toEqual(['51', '52']);
    expect(oldest).toContain('<input type="date" id="filter-from" name="from" value="2026-11-21"');
    expect(oldest).toMatch(/sort=oldest[^>]*aria-current="true">Oldest first/);
  });

  it('offer one decision for a list only where it means exactly its orders', async () => {
    const pages = await startPages({ decides: true });
    const { headers } = await pages.as(operatorToken);
    const offersAll = async (filter: string) =>
      (await pages.ask(`/orders?${filter}`, { headers })).text.includes('Decide on all of them');
    expect(await offersAll('product=steam-10&state=pending')).toBe(true);
    for (const more of ['from=2026-11-21', 'to=2026-11-21', 'search=steam', 'attention=1'])
      expect([more, await offersAll(`product=steam-10&state=pending&${more}`)]).toEqual([
        more,
        false,
      ]);
  });

  it('show long lists in pages, each order once', async () => {
    const { ask } = await startPages({ ...local, fill: fillMany });
    const seen: string[] = [];
    const visited: string[] = [];
    let path = '/orders?source=shop1';
    while (path !== '') {
      const { text } = await ask(path);
      seen.push(
        ...[...text.matchAll(/<td[^>]*><a href="\/orders\/shop1\/(\d+)"/g)].map(
          (match) => match[1] ?? '',
        ),
      );
      path = hrefOf(text, 'next');
      if (path !== '') visited.push(path);
    }
    expect(visited.every((one) => one.includes('source=shop1'))).toBe(true);
    const [, third = ''] = visited;
    expect(hrefOf((await ask(third)).text, 'first')).toBe('/orders?source=shop1');
    expect(seen.length).toBe(450);
    expect(new Set(seen).size).toBe(450);
  });

  it('show an order with what happened in which order, and never a code', async () => {
    const { ask } = await startPages(local);
    const { text } = await ask('/orders/shop1/1001');
    for (const shown of [
      '2 delivered, not shown here',
      'W-1',
      'invalid_variant',
      'quantity must be at least 1',
      'Sent to the supplier',
      'HTTP 404',
    ]) {
      expect(text).toContain(shown);
    }
    const kinds = ['received', 'entry', 'call', 'answer', 'settled'].map((kind) =>
      text.indexOf(`<li class="kind-${kind}`),
    );
    expect(kinds.every((place) => place > 0)).toBe(true);
    expect(kinds).toEqual(kinds.toSorted((a, b) => a - b));
    expect(text).not.toContain('GIFT-CODE');
    expect((await ask('/orders/shop1/none')).status).toBe(404);
  });

  it('say of an order how many lines became what, and where its result stands', async () => {
    const { ask } = await startPages(local);
    const { text } = await ask('/orders/shop1/1001');
    expect(text).toContain('3 lines: 1 fulfilled, 1 rejected, 1 not accepted');
    expect(text).toContain('folder: <span class="code">shop1/1001.json</span>');
    // What an operator must do, and where: the list as it stands in the address of its row.
    expect(text).toMatch(
      /It needs an operator: <a href="\/attention\/review\?id=os-[^"]+">review it/,
    );
    expect(text).toContain('>3, line 4 of the file</td>');
    expect((await ask('/orders?search=1001')).text).toMatch(
      /<span class="badge is-problem">not accepted<\/span>/,
    );
  });

  it('say of an order that waits that it is sent by itself', async () => {
    const { ask } = await startPages({ ...local, fill: (place) => acceptOrders(place, ['2001']) });
    const { text } = await ask('/orders/shop1/2001');
    expect(text).toContain('Nothing of it is bought yet. The worker sends the line by itself');
    expect(text).toContain('ordered at the supplier, due');
    expect(text).toContain('There is no result yet.');
    expect(text).not.toContain('It needs an operator');
  });

  it('say of an entry that is being confirmed how it ends: refused, cancelled or too late', async () => {
    const shown = async (box: Outbox): Promise<string> =>
      (await (await startPages({ ...local, store: box.store })).ask('/orders/shop1/1001')).text;
    const refused = await standingIn('pending');
    await settle(refused, { ...outOfStock, state: 'unknown', nextStep: 'lookup' });
    expect(await shown(refused)).toContain(
      'Before it ends (refused), the worker asks the supplier',
    );
    const cancelled = await standingIn('waiting');
    await act(cancelled, { action: 'cancel' });
    expect(await shown(cancelled)).toContain(
      'Before it ends (cancelled), the worker asks the supplier',
    );
    const late = await Outbox.open();
    onTestFinished(() => late.close());
    await late.accept([cardLine({ notAfterMs: 520_000 })]);
    await settle(late, outOfStock);
    await stepsOf(late.store).expireOverdue(520_000, 5);
    expect(await shown(late)).toContain('Before it ends (too late), the worker asks the supplier');
  });

  it('tell once on each page that nothing is bought, while the account is paused', async () => {
    const fill = async (place: Installation): Promise<void> => {
      await fillOutbox(place);
      const store = openOutbox(place);
      await store.operator.pauseScope({
        scope: 'account',
        actor: 'cli:anna',
        reason: 'wrong prices',
        nowMs,
      });
      await store.close();
    };
    const { ask } = await startPages({ ...local, fill });
    for (const path of ['/', '/orders', '/orders/shop1/1001', '/attention', '/config'])
      expect((await ask(path)).text.split('Buying is stopped')).toHaveLength(2);
    const { text } = await ask('/');
    expect(text).toContain('Buying is stopped: everything is paused by an operator');
    expect(text).toMatch(/An operator resumes it\.[\s\S]*?cli:anna: [\s\S]*?wrong prices/);
    const { ask: elsewhere } = await startPages(local);
    expect((await elsewhere('/orders')).text).not.toContain('Buying is stopped');
  });

  it('lead from a search to the only order that fits, else to the list', async () => {
    const { ask } = await startPages(local);
    const leadsTo = async (search: string) =>
      (await ask(`/find?search=${search}`)).headers['location'];
    expect(await leadsTo('1003')).toBe('/orders/shop1/1003');
    expect(await leadsTo('100')).toBe('/orders?search=100');
    expect(await leadsTo('nobody%26x')).toBe('/orders?search=nobody%26x');
  });

  it('say where a key stands and never what it is, and that a variable is only read at a start', async () => {
    const shown = async (environment: Readonly<Record<string, string>>) => {
      const file = installation().configFile;
      const configInUse = () => ({ ...loadConfig({ file, environment }), readAtMs: nowMs });
      const pages = await startPages({ decides: true, sources: { configInUse } });
      return { file, text: (await pages.ask('/config', await pages.as(operatorToken))).text };
    };
    const inFile = await shown({});
    expect(inFile.text).toContain(`The key main is in <span class="code">${inFile.file}:`);
    const variable = 'ORDER_SYNC__WHOLESALE__KEYS__0__VALUE';
    const { text } = await shown({ [variable]: 'the-key-in-a-variable' });
    expect(text).toContain(
      `The key main is in <span class="code">${variable}</span>, which only a restart reads again`,
    );
    expect(inFile.text + text).not.toMatch(/sandbox-key|the-key-in/);
  });

  it('advise the buttons that the visitor has, and commands to who may only look', async () => {
    const pages = await startPages({ decides: true });
    const adviceTo = async (token: string) =>
      (await pages.ask('/attention', { headers: (await pages.as(token)).headers })).text;
    const operator = await adviceTo(operatorToken);
    expect(operator).toContain('end this row with &quot;Acknowledge&quot;');
    expect(operator).not.toContain('`orders ack`');
    // The pages have no button for it.
    expect(operator).toContain('`orders reorder --remap`');
    const { ask } = await startPages(local);
    for (const text of [
      await adviceTo(viewerToken),
      (await ask('/attention')).text,
      (await ask('/')).text,
    ]) {
      expect(text).toContain('end this row with `orders ack`');
      expect(text).not.toContain('supplier advises');
      expect(text).not.toContain('&quot;Acknowledge&quot;');
    }
  });

  it('show of a refused line what was refused, and no form of another line', async () => {
    const { ask } = await startPages(local);
    const [, path = ''] =
      /href="(\/attention\/review\?id=line[^"]+)"/.exec((await ask('/attention')).text) ?? [];
    const { text } = await ask(path.replaceAll('&amp;', '&'));
    expect(text).toContain('Lines that were not accepted');
    expect(text).toContain('quantity must be at least 1');
    expect(text).not.toContain('<article');
  });

  it('lead through the attention list, with the evidence of each row', async () => {
    const { ask } = await startPages(local);
    const list = (await ask('/attention')).text;
    const rows = [...list.matchAll(/href="(\/attention\/review[^"]+)"/g)].map(
      (match) => match[1]?.replaceAll('&amp;', '&') ?? '',
    );
    expect(rows.length).toBeGreaterThan(2);
    const next = async (path: string) => hrefOf((await ask(path)).text, 'next');
    const nexts = await Promise.all(rows.map(next));
    // Each row but the last leads to another one, so all of them are reached from the first.
    expect(new Set(nexts).size).toBe(new Set(rows).size);
    expect(nexts.filter((path) => path !== '').every((path) => rows.includes(path))).toBe(true);
    const review = rows.find((row) => row.includes('id=os-')) ?? '';
    expect((await ask(review)).text).toContain('Evidence');
    expect((await ask('/attention/review?id=gone')).text).toContain(
      'is not in the attention list any more',
    );
  });

  it('say how many orders wait for a cause, their money, and since when', async () => {
    const { ask } = await startPages(local);
    expect((await ask('/attention')).text).toMatch(
      />es-7 needs a decision<[\s\S]*?: 1 order, 1 line of unknown cost, the oldest for /,
    );
  });

  it('answer at the top whether anything is wrong, what was spent today, and what is open', async () => {
    const { ask } = await startPages(local);
    const { text } = await ask('/');
    const state = /<section class="status is-warning"[\s\S]*?<\/section>/.exec(text)?.[0] ?? '';
    expect(state).toMatch(/4 causes need you<[\s\S]*?the oldest for <time[^>]*>1 h</);
    expect(state).toMatch(/Buying is on, <a href="#pauses">1 scope paused/);
    expect(state).toContain('1 line waits, the oldest for');
    const answers = /<ul class="answers"[\s\S]*?<\/ul>/.exec(text)?.[0] ?? '';
    expect(answers).toMatch(/Spent today \(UTC\)<\/h2><p><span class="number">19\.00 <\/span>USD/);
    expect(answers).toMatch(/Waiting<\/h2><p><span class="number">1<\/span> line,/);
  });

  it('show what needs an operator by its cause, with one decision for all rows of a cause', async () => {
    const pages = await startPages({ decides: true, fill: fillWithRefused });
    const { headers } = await pages.as(operatorToken);
    const { text } = await pages.ask('/attention', { headers });
    expect(text).toContain('<title>(31) Attention - acme');
    expect(text).toMatch(
      /href="\/attention\?kind=invalid_line&amp;code=unknown_sku">A SKU is not in the SKU map<\/a>[\s\S]*?<code>unknown_sku</,
    );
    expect(text).toContain('30 lines in 3 shops');
    expect(text.match(/<li class="cause /g)).toHaveLength(2);
    expect(text).toContain('<summary class="button">Acknowledge all 30</summary>');
    const rows = (await pages.ask('/attention?kind=invalid_line&code=unknown_sku', { headers }))
      .text;
    expect(rows.match(/href="\/attention\/review/g)).toHaveLength(30);
    expect(rows.match(/What to do:/g)).toHaveLength(1);
  });

  it('name an order by its product, its customer and what was charged, and find it by a whole code', async () => {
    const { ask } = await startPages(local);
    const { text } = await ask('/orders?search=GIFT-CODE-1');
    expect(text).toContain('/orders/shop1/1001');
    expect(text).not.toContain('/orders/shop1/1002');
    expect(text).toMatch(/data-name="Product"><span class="text">nope, steam-10</);
    expect(text).toMatch(/data-name="Charged" class="number">19\.00 USD</);
    const { ask: other } = await startPages({
      ...local,
      fill: (place) => acceptOrders(place, ['7'], { email: 'anna@example.com' }),
    });
    const named = (await other('/orders?search=anna@example.com')).text;
    expect(named).toMatch(/data-name="Customer">a\*\*\*@example\.com</);
  });

  it('show deliveries, decisions and the configuration with secrets as fingerprints', async () => {
    const { ask } = await startPages(local);
    expect((await ask('/deliveries')).text).toMatch(/shop1\/1001[\s\S]*folder/);
    expect((await ask('/deliveries?status=given_up')).text).toContain('No delivery was given up.');
    expect((await ask('/audit')).text).not.toContain('balance:EUR');
    expect((await ask('/audit?who=all')).text).toContain('balance:EUR');
    expect((await ask('/audit?actor=nobody')).text).toContain('No decision fits this filter.');
    const config = (await ask('/config?key=keys')).text;
    expect(config).toMatch(
      /wholesale\.keys\.0\.value<\/span><\/td><td[^>]*>secret, fingerprint <span class="code">[0-9a-f]{8}</,
    );
    expect(config).not.toContain('sandbox-key-main');
    expect(config).toContain('order-sync.yaml:6');
  });

  it('say of a paused sink that its results wait, when it is tried, and offer to try it now', async () => {
    const { as, ask, store } = await startPages({ decides: true });
    const paused = { sink: 'folder', reason: 'EROFS', message: 'read-only', probes: 3 };
    await store.results.pauseSink({
      ...paused,
      nowMs: nowMs - 3_600_000,
      probeAtMs: nowMs - 56_000,
    });
    const session = await as(operatorToken);
    const { text } = await ask('/deliveries', session);
    expect(text).toContain('No other result waits.');
    expect(text).not.toContain('every sink has all its results');
    expect(text).toMatch(/Next try <time[^>]*>now</);
    expect(text).toContain('<summary class="button primary">Try now</summary>');
    const form = { action: 'resume', scope: 'sink:folder', reason: 'it is mounted again' };
    const sent = {
      csrf: session.csrf,
      form: 'a-form-of-16-ids',
      return_to: '/deliveries',
      ...form,
    };
    const { headers } = session;
    const done = await ask('/actions', { method: 'POST', headers, form: sent });
    expect(done.status).toBe(303);
    expect((await store.results.sinkPause('folder'))?.probeAtMs).toBe(0);
  });

  it('show the way to the first order where there is none, with the inbox of this worker', async () => {
    const { ask } = await startPages({ ...local, fill: (place) => openOutbox(place).close() });
    const { text } = await ask('/');
    expect(text).toContain('Everything is in order');
    expect(text).toMatch(/Send the first order[\s\S]*mv order\.ndjson [^<]*\/inbox\//);
    expect((await (await startPages(local)).ask('/')).text).not.toContain('Send the first order');
  });

  it('sum up by day, shop and product, and give the same sums as CSV', async () => {
    const fill = async (place: Installation): Promise<void> => {
      await fillOutbox(place);
      const store = openOutbox(place);
      const asked = line('=1+1', '1', { source: '=cmd', variant: 'steam-10', quantity: 1 });
      await store.intake.acceptBatch({ nowMs, fileId: null, lines: [asked], rejections: [] });
      await store.close();
    };
    const { ask } = await startPages({ ...local, fill });
    const { text } = await ask('/numbers');
    expect(text).toMatch(/Spent<\/h2><p><span class="number">19\.00 USD</);
    expect(text).toMatch(/Orders<\/h2><p><span class="number">4</);
    expect(text).toMatch(/<th scope="row">11-15<\/th><td>0<\/td>/);
    expect(text).toMatch(/<th scope="row">11-21<\/th><td>19<\/td>/);
    expect(text).not.toContain('data-live');
    const csv = await ask('/numbers.csv');
    expect(csv.headers['content-type']).toBe('text/csv; charset=utf-8');
    const [header, ...rows] = csv.text.trim().split('\n');
    expect(header).toBe(
      'day,source,product,currency,orders,bought,refused,spent,uncounted,refunded,refunds_unknown,median_s',
    );
    expect(rows).toContain('2026-11-21,shop1,steam-10,USD,2,1,0,19.00,0,0.00,0,0.3');
    expect(rows).toContain('2026-11-21,shop1,nope,USD,1,0,1,0.00,0,0.00,0,');
    // No name becomes a formula of a spreadsheet.
    expect(csv.text).toContain("'=cmd");
    const other = (await ask('/numbers.csv?source=shop1&product=nope')).text.trim().split('\n');
    expect(other).toHaveLength(2);
    expect((await ask('/numbers.csv?from=2026-11-22&to=2026-11-22')).text.trim()).toBe(header);
  });

  it('show text from outside as text', async () => {
    const { ask } = await startPages({ ...local, fill: fillWithHtml });
    const order = `/orders/shop1/${encodeURIComponent('A&B/1')}`;
    const paths = [
      '/',
      '/orders',
      order,
      '/attention',
      '/audit',
      '/deliveries',
      `/orders?search=${encodeURIComponent(evil)}`,
    ];
    for (const path of paths) {
      const { status, text } = await ask(path);
      expect([path, status]).toEqual([path, 200]);
      expect(text.replaceAll(/<script src="\/assets\/[^"]+" defer><\/script>/g, '')).not.toContain(
        '<script',
      );
      expect(text).not.toContain('<img');
    }
    expect((await ask(order)).text).toContain('&lt;script&gt;');
    expect((await ask(`/attention/review?id=${encodeURIComponent(evil)}`)).text).not.toContain(
      '<script>',
    );
  });

  it('cut long texts, with the whole text one step away', async () => {
    const fill = async (place: Installation): Promise<void> => {
      const store = openOutbox(place);
      const reason = `${'long '.repeat(90)}END`;
      await store.operator.pauseScope({ scope: 'account', actor: 'cli:anna', reason, nowMs });
      await store.close();
    };
    const { ask } = await startPages({ ...local, fill });
    expect((await ask('/audit')).text).toMatch(
      /<details class="long"><summary>.*…<\/span><\/summary><p class="text">long .*END<\/p>/,
    );
  });

  it('answer a page that is not there, and a place that is none, with a page', async () => {
    const { ask } = await startPages(local);
    const missing = await ask('/nothing-here');
    expect([missing.status, missing.text.includes('There is no such page.')]).toEqual([404, true]);
    const order = await ask('/orders/shop1/none');
    for (const { text } of [missing, order]) expect(text).toContain('<nav aria-label="Pages">');
    expect(order.text).toMatch(/<h1>Not found<\/h1>[\s\S]*has no order/);
    expect(
      (await ask('/nothing-here', { headers: { accept: 'application/json' } })).text,
    ).toContain('"not_found"');
    expect((await ask('/audit?after=nonsense')).status).toBe(422);
    expect((await ask('/orders?before=nonsense')).status).toBe(200);
  });

  it('are complete without the script, and the style and script may be kept', async () => {
    const { ask } = await startPages({ ...local, fill: fillOutbox });
    const { text } = await ask('/');
    for (const [, path] of text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)) {
      const asset = await ask(path ?? '');
      expect([asset.status, asset.headers['cache-control']]).toEqual([
        200,
        'public, max-age=31536000, immutable',
      ]);
    }
    expect(text).toContain('>Refresh</a>');
  });
});
