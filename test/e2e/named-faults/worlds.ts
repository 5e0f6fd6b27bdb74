import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  answersWith,
  complete,
  echoes,
  page,
  refuses,
  saysNothing,
  sellsAndShows,
} from '../../support/fake-api.ts';
import { answers, cutsOff, hangs, Receiver } from '../../support/receiver.ts';
import { SmallDisk } from '../../support/small-disk.ts';
import { Installation } from '../../support/worker-process.ts';
import {
  minutesAgo,
  oneCard,
  oneRefunded,
  wooBody,
} from '../../storefronts/read-back/running-read-back.ts';
import { deliver, installationFor } from '../../storefronts/read-back/shop-worker.ts';
import { send, StubWooCommerce } from '../../storefronts/read-back/stub-shop.ts';
import { writeLongAgo } from '../../storefronts/storefront-shops.ts';
import type { Fault } from './watch.ts';
import {
  openApi,
  order,
  shortTimes,
  type SpoiltWorker,
  startSpoilt,
  startWith,
  untilState,
} from './worker-to-spoil.ts';

/** A running worker, and faults that are put into it at once. None of them depends on another. */
export interface SpoiltWorld {
  readonly name: string;
  readonly faults: readonly Fault[];
  readonly start: () => Promise<SpoiltWorker & { readonly spoil: () => Promise<void> | void }>;
}

const all = (...words: readonly string[]): RegExp =>
  new RegExp(words.map((word) => `(?=[^]*(?:${word}))`).join(''));

/** A pause of a scope, whose reason health names, too. */
const pause = (
  what: string,
  scope: string,
  reason: string,
  action: RegExp,
  isOutage = false,
): Fault => ({
  what,
  cause: all(scope, reason),
  action,
  health: new RegExp(`"scope":"${scope}","reason":"${reason}"`),
  isLater: isOutage,
});
const row = (what: string, kind: string, words: readonly string[], action: RegExp): Fault => ({
  what,
  cause: all(...words),
  action,
  health: kind,
});
const rejected = (what: string, code: string, product: string): Fault =>
  row(what, 'rejected', [code, product], /orders reorder/);
const inReview = (what: string, product: string, code: string): Fault =>
  row(
    what,
    'needs_review',
    [product, code],
    /Compare the line with the supplier's list, then settle it/,
  );
const sink = (what: string, name: string, reason: string, isOutage = false): Fault => ({
  what,
  cause: all(name, reason),
  action: /wait for the next try|repair the receiver or the folder/i,
  health: new RegExp(`"${name}":\\{"reason":"${reason}"`),
  isLater: isOutage,
});

const good = { good: {} };

const refusals: SpoiltWorld = {
  name: 'products that are refused',
  faults: [
    rejected('a variant that is not sold', 'invalid_variant', 'nope'),
    rejected('a plan that is not sold', 'invalid_plan', 'no-plan'),
    rejected('an order that the supplier refuses', 'order_refused', 'refused'),
    rejected('a product of the website only', 'not_api_sellable', 'website'),
    rejected('more than the limit of an order', 'limit_exceeded', 'limited'),
    rejected('a product without stock', 'out_of_stock', 'sold-out'),
    rejected('a product without a price in the currency', 'currency_unavailable', 'usd-only'),
    row(
      'an order that came after its deadline',
      'expired',
      ['expired|not bought in time', 'good|late'],
      /orders reorder/,
    ),
  ],
  start: async () => {
    const refused = (http: number, code: string) => ({ behaviour: refuses(http, code) });
    const api = await openApi({
      variants: {
        ...good,
        refused: refused(422, 'order_refused'),
        website: refused(422, 'not_api_sellable'),
        limited: refused(422, 'limit_exceeded'),
        'sold-out': { stock: 0 },
        'usd-only': { prices: { USD: 5 } },
      },
      plans: { plan: {} },
    });
    const spoilt = await startSpoilt({ api: api.url });
    const { installation } = spoilt;
    order(installation, 'first', { variant: 'good' });
    order(installation, 'second', { plan: 'plan' });
    await untilState(installation, 'first', 'fulfilled');
    await untilState(installation, 'second', 'fulfilled');
    const spoil = (): void => {
      for (const variant of ['nope', 'refused', 'website', 'limited', 'sold-out'])
        order(installation, variant, { variant });
      order(installation, 'no-plan', { plan: 'no-plan' });
      order(installation, 'usd-only', { variant: 'usd-only', currency: 'EUR' });
      order(installation, 'late', {
        variant: 'good',
        notAfter: new Date(Date.now() - 3_600_000).toISOString(),
      });
    };
    return { ...spoilt, spoil };
  },
};

/** Products whose answers cannot be believed, by their names. */
const sick = {
  another: echoes({ variant: 'other' }),
  double: echoes({ codes: [{ code: 'DOUBLE-1-A' }, { code: 'DOUBLE-1-B' }] }),
  twice: echoes({ codes: [{ code: 'TWICE-1' }, { code: 'TWICE-1' }] }),
  empty: saysNothing({}),
  fields: sellsAndShows((sold) => ({
    ...complete(sold),
    codes: [{ code: `F-${sold.number}`, security_part: 'x' }],
  })),
  unlisted: refuses(422, 'contract_needed'),
  malformed: refuses(422, 'invalid_request'),
  broken: answersWith({ http: 500, body: { error: { code: 'internal', message: 'it broke' } } }),
};
const sickAnswers: SpoiltWorld = {
  name: 'products with sick answers',
  faults: [
    inReview('an answer that shows another product', 'another', 'answer_mismatch|needs_review'),
    pause('the product of that answer', 'variant:another', 'answer_mismatch', /orders show/),
    inReview('more codes than were ordered', 'double', 'needs_review|more_units|extra'),
    inReview('the same code twice', 'twice', 'needs_review|repeated'),
    pause('a success that says nothing', 'variant:empty', 'unreadable_success', /orders show/),
    pause(
      'codes with a part that nobody reads',
      'variant:fields',
      'unread_fields',
      /correct `wholesale.wire`/,
    ),
    pause(
      'a code of an error that is not listed',
      'variant:unlisted',
      'consecutive_rejections',
      /ask the supplier/,
    ),
    pause(
      'a request that is refused as malformed',
      'variant:malformed',
      'consecutive_rejections',
      /orders show/,
    ),
    pause(
      'a product that always answers 500',
      'variant:broken',
      'order_absent',
      /wait for the next try|orders show/,
    ),
  ],
  start: async () => {
    const variants = Object.fromEntries(
      Object.entries(sick).map(([name, behaviour]) => [name, { behaviour }]),
    );
    const api = await openApi({ variants: { ...good, ...variants } });
    const spoilt = await startSpoilt({ api: api.url });
    const { installation } = spoilt;
    order(installation, 'first', { variant: 'good' });
    await untilState(installation, 'first', 'fulfilled');
    const spoil = (): void => {
      for (const variant of Object.keys(sick))
        order(installation, variant, { variant, quantity: variant === 'twice' ? 2 : 1 }, 5);
      order(installation, 'healthy', { variant: 'good' }, 20);
    };
    return { ...spoilt, spoil };
  },
};

const key = (name: string) => ({ name, value: `sandbox-key-${name}` });
const keysAndBalances: SpoiltWorld = {
  name: 'keys and balances',
  faults: [
    pause('a key that was revoked', 'key:revoked', 'invalid_key', /replace the key/),
    pause(
      'a key of another address',
      'key:elsewhere',
      'ip_not_allowed',
      /the address of this machine/,
    ),
    pause('an empty balance', 'balance:EUR', 'insufficient_balance', /top up at the supplier/),
    pause(
      'a key of another account',
      'key:foreign',
      'key_of_other_account',
      /configure a key of the account/,
    ),
  ],
  start: async () => {
    const accounts = [
      {
        id: 'acme',
        balances: { USD: '1000.00', EUR: '0.00' },
        keys: [
          key('main'),
          { ...key('revoked'), revoked: true },
          { ...key('elsewhere'), allow_list: ['192.0.2.1'] },
        ],
      },
      { id: 'other', balances: { USD: '1000.00' }, keys: [key('foreign')] },
    ];
    const sandbox = { accounts, limits: { enabled: false } };
    const spoilt = await startSpoilt({ sandbox, keys: [key('main')] });
    const { installation, worker } = spoilt;
    order(installation, 'first', { variant: 'steam-usd-20' });
    await untilState(installation, 'first', 'fulfilled');
    const spoil = async (): Promise<void> => {
      installation.configure((config) => {
        config.wholesale.keys = ['main', 'revoked', 'elsewhere', 'foreign'].map(key);
      });
      await worker.reload();
      order(installation, 'dear', { variant: 'amazon-eur-25', currency: 'EUR' }, 5);
      order(installation, 'more', { variant: 'steam-usd-20' }, 8);
    };
    return { ...spoilt, spoil };
  },
};

/** A server in the place of the API. */
async function serving(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
}

async function servingTls(place: string): Promise<string> {
  const files = ['-keyout', join(place, 'key.pem'), '-out', join(place, 'cert.pem')];
  const subject = ['-subj', '/CN=localhost', '-days', '2', '-nodes', '-newkey', 'rsa:2048'];
  spawnSync('openssl', ['req', '-x509', ...subject, ...files]);
  const [keyText, cert] = [
    readFileSync(join(place, 'key.pem')),
    readFileSync(join(place, 'cert.pem')),
  ];
  const server = createTlsServer(
    { key: keyText, cert },
    (_request, response) => void response.end('{}'),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return `https://localhost:${typeof address === 'object' && address !== null ? address.port : 0}`;
}

const products = ['a', 'b', 'c', 'd', 'e', 'f'];
/** A fault of the whole API: the worker meets it when it buys. */
function account(
  what: string,
  reason: string,
  action: RegExp,
  apiOf: () => Promise<
    string | { readonly api: string; readonly spoil: () => Promise<void> | void }
  >,
  isOutage = false,
): SpoiltWorld {
  return {
    name: what,
    faults: [pause(what, 'account', reason, action, isOutage)],
    start: async () => {
      const found = await apiOf();
      const { api, spoil } = typeof found === 'string' ? { api: found, spoil: null } : found;
      const spoilt = await startSpoilt({ api });
      // An outage interrupts what worked; an address that never worked is a mistake.
      if (spoil !== null) {
        for (const variant of products) order(spoilt.installation, `first-${variant}`, { variant });
        await untilState(spoilt.installation, 'first', 'fulfilled', products.length);
      }
      return {
        ...spoilt,
        spoil: async () => {
          await spoil?.();
          // Two unknown outcomes hold up a product.
          for (const variant of products) order(spoilt.installation, variant, { variant });
        },
      };
    },
  };
}

const ask = /wait for the next try|if the supplier is down, wait/;
async function spoiltApi(
  spoil: (api: Awaited<ReturnType<typeof openApi>>) => Promise<void> | void,
) {
  const api = await openApi({
    variants: Object.fromEntries(products.map((variant) => [variant, {}])),
  });
  return { api: api.url, spoil: () => spoil(api) };
}
const outage = (
  what: string,
  reason: string,
  spoil: Parameters<typeof spoiltApi>[0],
): SpoiltWorld => account(what, reason, ask, () => spoiltApi(spoil), true);
const accounts: readonly SpoiltWorld[] = [
  outage('an API that nothing reaches', 'api_unreachable', (api) => api.close()),
  outage('an API that never answers', 'api_unreachable', (api) => void (api.condition = 'silent')),
  outage("a proxy's page with 503", 'api_unreachable', (api) => void (api.condition = 'page_503')),
  outage('maintenance of the API', 'api_disabled', (api) => void (api.condition = 'disabled')),
  account(
    'an API that moved',
    'redirect',
    /wait for the next try|correct `wholesale.base_url`/,
    () =>
      serving(
        (_request, response) =>
          void response.writeHead(308, { location: 'https://moved.example/' }).end(),
      ),
  ),
  account('an address that is a web page', 'api_unreachable', ask, () =>
    serving((_request, response) => {
      const { http, body, headers } = page(404);
      response.writeHead(http, headers).end(String(body));
    }),
  ),
  account('a certificate that nobody signed', 'tls_refused', /`wholesale.ca_file`/, async () => {
    const { folder, close } = await Installation.open({ api: 'http://127.0.0.1:1' }).then(
      (place) => ({
        folder: place.folder,
        close: () => place.close(),
      }),
    );
    onTestFinished(close);
    return await servingTls(folder);
  }),
];
const blocked: SpoiltWorld = {
  name: 'an account that is blocked',
  faults: [
    pause(
      'an account that is blocked',
      'account',
      'account_not_allowed',
      /ask the supplier to allow this account/,
    ),
  ],
  start: async () => {
    const accountsOf = [{ id: 'acme', blocked: true, keys: [key('main')] }];
    const spoilt = await startSpoilt({
      sandbox: { accounts: accountsOf, limits: { enabled: false } },
    });
    return {
      ...spoilt,
      spoil: () => order(spoilt.installation, 'more', { variant: 'steam-usd-20' }, 3),
    };
  },
};

const file = (what: string, code: string): Fault =>
  row(what, 'invalid_file', [code], /correct the file and send it again/);
const line = (what: string, code: string): Fault =>
  row(what, 'invalid_line', [code], /correct the line and send it again/);
const header = 'order_id,variant,quantity,currency';
const csv = (text: string): string => `${header}\n${text}\n`;
const files: SpoiltWorld = {
  name: 'order files',
  faults: [
    file('a file that is no JSON', 'invalid_json'),
    file('a spreadsheet', 'unknown_extension'),
    file('an empty file', 'empty'),
    file('a file in UTF-16', 'encoding_utf16'),
    file('a file that lost its header', 'missing_column'),
    line('an order id that a spreadsheet spoilt', 'id_mangled'),
    line('a quantity of 1,5', 'invalid_field'),
    line('a line without a product', 'missing_field'),
    line('a SKU that no map has', 'unknown_sku'),
    row(
      'an order that came again with other content',
      'invalid_line',
      ['conflict'],
      /compare the two contents in/,
    ),
  ],
  start: async () => {
    const spoilt = await startSpoilt({}, (config) => {
      config.intake.folders[0].sku_map = join(config.data_dir, 'folder-skus.yaml');
      writeFileSync(
        config.intake.folders[0].sku_map,
        'skus: { STEAM-20: { type: gift_card_order, variant: steam-usd-20 } }\n',
      );
    });
    const { installation } = spoilt;
    installation.drop('first.csv', csv('first-1,steam-usd-20,1,USD'));
    await untilState(installation, 'first', 'fulfilled');
    const spoil = (): void => {
      const drop = installation.drop.bind(installation);
      drop('cut.json', '{"order_id":');
      drop('orders.xlsx', 'PK');
      drop('empty.csv', '');
      writeFileSync(
        join(installation.folder, 'wide.csv'),
        Buffer.from(`\uFEFF${csv('a,b,1,USD')}`, 'utf16le'),
      );
      renameSync(
        join(installation.folder, 'wide.csv'),
        join(installation.folder, 'inbox', 'wide.csv'),
      );
      drop('headless.csv', 'order_id,quantity\n1,1\n');
      drop('mangled.csv', csv('1E+05,steam-usd-20,1,USD'));
      drop('fraction.csv', csv('fraction-1,steam-usd-20,"1,5",USD'));
      drop('productless.csv', csv('none-1,,1,USD'));
      drop('unmapped.csv', 'order_id,sku,currency\nsku-1,STEAM20,USD\n');
      drop('again.csv', csv('first-1,steam-usd-50,1,USD'));
    };
    return { ...spoilt, spoil };
  },
};

const sinks: SpoiltWorld = {
  name: 'sinks',
  faults: [
    sink('a receiver that answers 500', 'callback:broken', 'http_500', true),
    sink('a receiver that refuses the signature', 'callback:denied', 'http_401'),
    sink('a receiver that hangs', 'callback:hanging', 'timeout', true),
    sink('a receiver that cuts the connection', 'callback:cut', '\\w+', true),
    sink('a receiver that is gone', 'callback:gone', '\\w+', true),
    sink('an endpoint of alerts that fails', 'alert:pager', 'http_503'),
    sink('a folder of results that is none', 'folder', '\\w+'),
  ],
  start: async () => {
    const receivers = {
      broken: await Receiver.open(answers(500)),
      denied: await Receiver.open(answers(401)),
      hanging: await Receiver.open(hangs),
      cut: await Receiver.open(cutsOff),
    };
    const pager = await Receiver.open(answers(503));
    onTestFinished(async () => {
      for (const receiver of [...Object.values(receivers), pager]) await receiver.close();
    });
    const secrets = [{ value: `whsec_${Buffer.alloc(24, 7).toString('base64')}` }];
    const urls = Object.fromEntries(
      Object.entries(receivers).map(([name, { url }]) => [name, url]),
    );
    const spoilt = await startSpoilt({}, (config) => {
      const endpoints = Object.entries({ ...urls, gone: 'http://127.0.0.1:1/' });
      config.results = { callbacks: endpoints.map(([name, url]) => ({ name, url, secrets })) };
      config.alerts.push({ name: 'pager', url: pager.url });
    });
    const { installation } = spoilt;
    const spoil = (): void => {
      rmSync(join(installation.folder, 'results'), { recursive: true });
      writeFileSync(join(installation.folder, 'results'), 'no folder');
      order(installation, 'sold', { variant: 'steam-usd-20' }, 6);
      order(installation, 'refused', { variant: 'test-refused' });
    };
    return { ...spoilt, spoil };
  },
};

const check = (
  what: string,
  name: string,
  status: 'warn' | 'fail',
  cause: RegExp,
  action: RegExp,
): Fault => ({
  what,
  cause,
  action,
  health: new RegExp(`"${name}":"${status}"`),
});
const machine: SpoiltWorld = {
  name: 'folders, backup and configuration',
  faults: [
    check(
      'an inbox that is gone',
      'folder:folder',
      'fail',
      /This watched folder/,
      /the log says which/,
    ),
    check(
      'a changed configuration with a mistake',
      'config',
      'warn',
      /changed configuration has mistakes/,
      /check-config/,
    ),
    // A backup is made once a minute.
    {
      ...check(
        'a folder of backups that is none',
        'upkeep',
        'warn',
        /last backup of the database failed/,
        /db backup/,
      ),
      isLater: true,
    },
    check(
      'a progress file that cannot be written',
      'progress_file',
      'warn',
      /progress file/,
      /repair the progress file/,
    ),
  ],
  start: async () => {
    const spoilt = await startSpoilt({}, (config) => {
      config.backup = { folder: join(config.data_dir, 'copies'), schedule: '* * * * *' };
      config.reference = { progress_folder: join(config.data_dir, 'progress') };
      mkdirSync(config.reference.progress_folder);
    });
    const { installation, worker } = spoilt;
    const spoil = async (): Promise<void> => {
      const blockedBy = (name: string): void => {
        rmSync(join(installation.folder, name), { recursive: true, force: true });
        writeFileSync(join(installation.folder, name), 'no folder');
      };
      // It is written when orders are sent.
      blockedBy('progress');
      order(installation, 'more', { variant: 'steam-usd-20' });
      await untilState(installation, 'more', 'fulfilled');
      for (const name of ['inbox', 'copies']) blockedBy(name);
      installation.configure((config) => (config.wholesale.limits.requests = 'many'));
      await worker.reload();
    };
    return { ...spoilt, spoil };
  },
};

const fullDisk: SpoiltWorld = {
  name: 'a full disk',
  faults: [
    check(
      'a full disk',
      'disk',
      'fail',
      /disk of the outbox is nearly full/,
      /free space or enlarge/,
    ),
  ],
  start: async () => {
    const installation = await Installation.open(shortTimes);
    onTestFinished(() => installation.close());
    const disk = SmallDisk.mount(join(installation.folder, 'small'), 40);
    if (typeof disk === 'string') throw new Error(disk);
    onTestFinished(() => disk.unmount());
    const spoilt = await startWith(installation, (config) => {
      config.data_dir = disk.folder;
      config.disk = { min_free_bytes: 8 * 1_048_576 };
      config.intake.folders[0].inbox = join(disk.folder, 'inbox');
    });
    // Who looks expects the run file there.
    const run = readFileSync(join(disk.folder, 'run.json'));
    writeFileSync(join(installation.folder, 'run.json'), run);
    return { ...spoilt, spoil: () => disk.fill('ballast', 2 * 1_048_576) };
  },
};

const clock = (what: string, aheadMs: number, cause: RegExp): SpoiltWorld => ({
  name: what,
  faults: [check(what, 'clock', 'warn', cause, /use NTP/)],
  start: async () => {
    const api = await openApi();
    const spoilt = await startSpoilt({ api: api.url });
    const spoil = (): void => {
      api.clockAheadMs = aheadMs;
      order(spoilt.installation, 'more', { variant: 'card' }, 8);
    };
    return { ...spoilt, spoil };
  },
});

const storefront = (what: string, words: readonly string[], action: RegExp): Fault =>
  row(what, 'storefront', words, action);
const shop: SpoiltWorld = {
  name: 'a shop',
  faults: [
    storefront('a SKU that the map of a shop lacks', ['unknown_sku'], /correct the SKU map/),
    storefront(
      'a refund of something that was bought',
      ['refund'],
      /look at the order in the shop/,
    ),
    storefront('an order that was paid long ago', ['old_sale|before'], /lookback_h/),
    {
      ...storefront(
        'a webhook that the shop switched off',
        ['webhook_off'],
        /switch the webhook on in the shop/,
      ),
      health: /has switched off its webhook/,
    },
    check('a SKU map that is broken', 'webhook', 'warn', /SKU map/, /skus check/),
  ],
  start: async () => {
    const stub = await new StubWooCommerce().open();
    stub.permission = 'read';
    const installation = await installationFor(stub, { schedule: '* * * * * *' }, shortTimes);
    const spoilt = await startWith(installation, (config) => {
      config.intake.webhook.woocommerce[0].unmatched = 'review';
    });
    const { worker } = spoilt;
    const bought = stub.put({ id: '700', modifiedMs: minutesAgo(3), body: wooBody('70') });
    await deliver(worker, stub.shown(bought));
    const sql = "SELECT count(*) AS n FROM entries WHERE state = 'fulfilled'";
    while (installation.query<{ n: number }>(sql)[0]?.n === 0)
      await new Promise((next) => void setTimeout(next, 50));
    const spoil = async (): Promise<void> => {
      const unknown = [{ id: '316', sku: 'NEW', quantity: 1, meta_data: [] }];
      const order1 = stub.put({
        id: '701',
        modifiedMs: minutesAgo(2),
        body: wooBody('71', { line_items: unknown }),
      });
      await deliver(worker, stub.shown(order1));
      const old = { ...oneCard('73'), date_paid_gmt: '2020-01-01T00:00:00' };
      await deliver(
        worker,
        stub.shown(stub.put({ id: '703', modifiedMs: minutesAgo(2), body: old })),
      );
      stub.put({
        id: '700',
        modifiedMs: minutesAgo(1),
        body: wooBody('70'),
        refunds: oneRefunded('70'),
      });
      await deliver(worker, stub.shown(stub.orders.find(({ id }) => id === '700') ?? bought));
      const to = 'https://worker.example/webhooks/woocommerce/main';
      stub.webhooks.push({ id: 7, topic: 'order.updated', status: 'disabled', delivery_url: to });
      // Its webhook is lost, so read-back brings it.
      stub.put({ id: '704', modifiedMs: minutesAgo(0), body: wooBody('74') });
      writeLongAgo(join(installation.folder, 'skus.yaml'), 'skus: [');
      await deliver(worker, stub.shown(bought));
    };
    return { ...spoilt, spoil };
  },
};
const lockedShop: SpoiltWorld = {
  name: 'a shop that cannot be read',
  faults: [
    check(
      'a shop that refuses the keys',
      'read_back',
      'warn',
      /401 woocommerce_rest_cannot_view/,
      /keys of the shop's API/,
    ),
  ],
  start: async () => {
    const stub = await new StubWooCommerce().open();
    const installation = await installationFor(stub, { schedule: '* * * * * *' }, shortTimes);
    const spoilt = await startWith(installation);
    const denied = {
      code: 'woocommerce_rest_cannot_view',
      message: 'Invalid key',
      data: { status: 401 },
    };
    return {
      ...spoilt,
      spoil: () => void (stub.misbehave = (_call, response) => send(response, 401, denied)),
    };
  },
};

const mapping: SpoiltWorld = {
  name: 'a mapping that reads nothing',
  faults: [
    pause(
      'a mapping that reads no code',
      'family:gift_card',
      'connector_unproven',
      /correct `wholesale.wire`/,
    ),
    row(
      'the first orders under it',
      'needs_review',
      ['card|more', 'needs_review|unread|units'],
      /settle it/,
    ),
  ],
  start: async () => {
    const behaviour = sellsAndShows((sold) => ({
      ...complete(sold),
      codes: [{ code: `C-${sold.number}`, other_part: `part-of-${sold.number}` }],
    }));
    const api = await openApi({ variants: { card: { behaviour } } });
    const spoilt = await startSpoilt({ api: api.url });
    return { ...spoilt, spoil: () => order(spoilt.installation, 'more', { variant: 'card' }, 6) };
  },
};

const sharedKey: SpoiltWorld = {
  name: 'a key that somebody else uses',
  faults: [
    {
      what: 'a key that somebody else uses',
      cause: all('key_used_elsewhere', 'key:main'),
      action: /stop the other worker or program/,
      health: 'key_used_elsewhere',
    },
  ],
  start: async () => {
    const api = await openApi({ limits: { windowMs: 1000, requests: 12, orders: 3 } });
    const spoilt = await startSpoilt({ api: api.url });
    return { ...spoilt, spoil: () => order(spoilt.installation, 'more', { variant: 'card' }, 120) };
  },
};

export const spoiltWorlds: readonly SpoiltWorld[] = [
  refusals,
  sickAnswers,
  keysAndBalances,
  ...accounts,
  blocked,
  files,
  sinks,
  machine,
  fullDisk,
  clock(
    'a clock that is five days behind',
    5 * 86_400_000,
    /clock of this machine is \d+ s behind/,
  ),
  clock('a clock that is five days ahead', -5 * 86_400_000, /clock of this machine is \d+ s ahead/),
  shop,
  lockedShop,
  mapping,
  sharedKey,
];
