import { describe, expect, it } from 'vitest';
import { minimal, mistakesOf } from './config-file.ts';

const inFolders = (...each: string[]) =>
  `intake: { folders: [${each.map((keys) => `{ ${keys} }`).join(', ')}] }`;

describe('the mistakes of a configuration', () => {
  it('are reported together, each with its place, its rule, its value and what is expected', () => {
    const text = `instance: 12
data_dri: x
intake:
  folders:
    - { ready: soon, scan_interval_ms: 1 }
wholesale:
  base_url: api.example.com
  keys:
    - name: main
      value: file:key
    - name: main
      value: file:key
  limits: { orders: 99 }
  timeout_ms: 10
submit: { concurrency: 1.5 }
log: { level: loud }
`;
    const environment = { ORDER_SYNC__DISK__MIN_FREE_BYTES: '-1', ORDER_SYNC__SUBMITT__X: '1' };
    expect(mistakesOf(text, { environment, flags: { 'admin.listen': 'here' } })).toEqual([
      'c.yaml has 15 mistakes:',
      '--set admin.listen must be host:port, for example "127.0.0.1:9090", got "here" (string)',
      'c.yaml:1:11 instance must be text (in quotes, if it looks like a number), got 12 (number)',
      'c.yaml:2:1 data_dri is no key of this version; did you mean "data_dir"?',
      'c.yaml:5:7 intake.folders.0.name is required: the name of the folder in logs, health and metrics.',
      'c.yaml:5:16 intake.folders.0.ready must be one of stable, done_file, got "soon" (string)',
      'c.yaml:5:22 intake.folders.0.scan_interval_ms is no key of this version; expected one of name, inbox, archive, rejected, group, ready, source, currency, sku_map, columns, format, only, unmatched, allow_mangled_ids',
      'c.yaml:7:13 wholesale.base_url must be an http or https address without user, query or fragment, for example "https://api.example.com/v1", got "api.example.com" (string)',
      'c.yaml:11:13 wholesale.keys.1.name must differ from the names of the other keys, got "main"',
      'c.yaml:12:14 wholesale.keys.1.value is the same key as wholesale.keys.0: remove one, because the server counts calls by key',
      'c.yaml:13:21 wholesale.limits.orders must be at most `requests` (60), because each order counts as a request, got 99',
      'c.yaml:14:15 wholesale.timeout_ms must be at least 100, got 10 (number)',
      'c.yaml:15:24 submit.concurrency must be a whole number, got 1.5 (number)',
      'c.yaml:16:15 log.level must be one of trace, debug, info, warn, error, fatal, silent, got "loud" (string)',
      'ORDER_SYNC__DISK__MIN_FREE_BYTES disk.min_free_bytes must be at least 0, got -1 (number)',
      'ORDER_SYNC__SUBMITT__X submitt is no key of this version; did you mean "submit"?',
    ]);
  });

  it('include a column of SKUs without the map that says what they stand for', () => {
    const text = `${minimal}intake: { folders: [{ name: a, columns: { sku: Article } }] }\n`;
    const rule = 'needs `sku_map` in the same folder, which says what each SKU stands for';
    expect(mistakesOf(text)[1]).toMatch(`intake.folders.0.columns.sku ${rule}`);
    expect(mistakesOf(text.replace('columns:', 'sku_map: skus.yaml, columns:'))).toEqual([]);
  });

  it('include a column of the file that two of ours name', () => {
    const columns = (lineId: string) =>
      `name: a, columns: { order_id: Order-ID, line_id: ${lineId}, quantity: null, days: null }`;
    const rule = 'intake.folders.0.columns.line_id names the same column as order_id';
    expect(mistakesOf(minimal + inFolders(columns('order id')))[1]).toContain(rule);
    expect(mistakesOf(minimal + inFolders(columns('Row')))).toEqual([]);
  });

  it('describe each required key that is missing', () => {
    expect(mistakesOf('wholesale: {}')).toEqual([
      'c.yaml has 3 mistakes:',
      'c.yaml:1:1 instance is required: the name of this installation, a part of every reference. Never change this name.',
      'c.yaml:1:1 wholesale.base_url is required: the address of the Wholesale Ordering API.',
      'c.yaml:1:1 wholesale.keys is required: one to five API keys of one account. Each key has its own budget.',
    ]);
  });

  it('include errors of the YAML, such as a duplicate key, with their places', () => {
    const [headline, ...lines] = mistakesOf(`instance: a\ninstance: b\n  x: [`);
    expect(headline).toMatch(/^c\.yaml has \d mistakes:$/);
    expect(lines[0]).toMatch(/^c\.yaml:2:1 is not valid YAML: /);
  });

  it('include a variable that would leave a gap in a list', () => {
    expect(
      mistakesOf(minimal, { environment: { ORDER_SYNC__WHOLESALE__KEYS__3__NAME: 'x' } }),
    ).toEqual([
      'c.yaml has a mistake:',
      'ORDER_SYNC__WHOLESALE__KEYS__3__NAME wholesale.keys.3.name leaves a gap in the list: the next index is 1',
    ]);
  });

  it('include a variable that does not fit the section above it', () => {
    expect(
      mistakesOf(minimal, { environment: { ORDER_SYNC__WHOLESALE__KEYS__NAME: 'x' } }),
    ).toEqual([
      'c.yaml has a mistake:',
      'ORDER_SYNC__WHOLESALE__KEYS__NAME wholesale.keys.name cannot be set, because wholesale.keys is a list',
    ]);
  });

  it('include keys that every JavaScript object has', () => {
    const flags = { '__proto__.log': 'x', 'constructor.name': 'y' };
    expect(mistakesOf(minimal, { flags })).toEqual([
      'c.yaml has 2 mistakes:',
      expect.stringContaining('--set __proto__ is no key of this version'),
      expect.stringContaining('--set constructor is no key of this version'),
    ]);
    expect({}).not.toHaveProperty('log');
    expect(mistakesOf(`${minimal}__proto__: { log: 1 }\n`)).toEqual([
      'c.yaml has a mistake:',
      expect.stringContaining('__proto__ is no key of this version'),
    ]);
  });
});

describe('addresses and folders that exclude each other', () => {
  const withWebhook = (listen: string) =>
    `${minimal}intake: { webhook: { listen: "${listen}", standard_webhooks: [{ name: a, secret: file:whsec }] } }\n`;
  const rule = 'intake.webhook.listen must have another port than admin.listen (127.0.0.1:9090)';

  it('include two listeners on one port', () => {
    for (const listen of ['127.0.0.1:9090', 'localhost:9090', '0.0.0.0:9090'])
      expect(mistakesOf(withWebhook(listen)).join()).toContain(rule);
    for (const listen of ['127.0.0.1:9091', '127.0.0.2:9090'])
      expect(mistakesOf(withWebhook(listen)).join()).not.toContain('another port');
    const anyPort = { flags: { 'admin.listen': '127.0.0.1:0' } };
    expect(mistakesOf(withWebhook('127.0.0.1:0'), anyPort).join()).not.toContain('another port');
  });

  it.each([
    ['results: { folder: data/inbox/ }', 'results.folder', 'intake.folders.0.inbox uses'],
    [
      inFolders('name: folder, archive: data/inbox'),
      'intake.folders.0.archive',
      'intake.folders.0.inbox uses',
    ],
    [
      inFolders('name: folder, rejected: data/inbox/bad'),
      'intake.folders.0.rejected',
      'intake.folders.0.inbox uses',
    ],
    [inFolders('name: a, inbox: data/results/in'), 'intake.folders.0.inbox', 'results.folder uses'],
    [
      inFolders('name: folder, archive: data/work'),
      'intake.folders.0.archive',
      'intake.folders.0.inbox uses',
    ],
    [inFolders('name: results'), 'intake.folders.0', 'results.folder uses'],
    [
      inFolders('name: a', 'name: b, inbox: data/a/inbox'),
      'intake.folders.1.inbox',
      'intake.folders.0.inbox uses',
    ],
    [
      inFolders('name: a', 'name: b, inbox: data/a/other'),
      'intake.folders.1.inbox',
      'intake.folders.0.inbox uses',
    ],
    [
      inFolders('name: a', 'name: b, archive: data/a/rejected'),
      'intake.folders.1.archive',
      'intake.folders.0.rejected',
    ],
    [
      inFolders('name: a', 'name: b, rejected: data/a/archive/b'),
      'intake.folders.1.rejected',
      'intake.folders.0.archive',
    ],
    [
      inFolders('name: a, archive: data/b/inbox', 'name: b'),
      'intake.folders.0.archive',
      'intake.folders.1.inbox uses',
    ],
  ])('include folders that are one, or one inside another: %s', (text, place, problem) => {
    const lines = mistakesOf(`${minimal}${text}\n`).join('\n');
    expect(lines).toMatch(
      new RegExp(`${place}\\S* needs a folder that is not inside another one.*${problem}`),
    );
  });

  it('include a name that two folders have, and a source that not both have stated', () => {
    const twice = 'intake.folders.1.name must differ from the names of the other folders, got "a"';
    expect(
      mistakesOf(minimal + inFolders('name: a', 'name: a, inbox: data/b/inbox')).join(),
    ).toContain(twice);
    const shared = (own: number, other: number) =>
      `folders.${own}.source must be set: intake.folders.${other} has the same source, so two orders with the same id would count as one`;
    expect(mistakesOf(minimal + inFolders('name: a', 'name: b, source: a'))[1]).toContain(
      shared(0, 1),
    );
    expect(mistakesOf(minimal + inFolders('name: b, source: a', 'name: a'))[1]).toContain(
      shared(1, 0),
    );
    expect(
      mistakesOf(minimal + inFolders('name: a, source: shop', 'name: b, source: shop')),
    ).toEqual([]);
  });

  it('allow folders whose names only begin like another one', () => {
    const text = inFolders('name: folder, archive: data/inbox-done, rejected: data/..inbox');
    expect(mistakesOf(`${minimal}${text}\n`)).toEqual([]);
  });
});

const withUrl = (url: string) => minimal.replace('https://api.example.com/v1', url);

describe('the address of the API', () => {
  it.each([
    'http://localhost:8090',
    'http://127.0.0.1:8090/v1',
    'http://[::1]:8090',
    'https://api.example.com',
  ])('may be %s', (url) => {
    expect(mistakesOf(withUrl(url))).toEqual([]);
  });

  it.each([
    'http://api.example.com',
    'http://10.0.0.1',
    'http://127.0.0.1.example.com',
    'http://localhost.example.com',
  ])('must not be %s, because the key would cross the network unencrypted', (url) => {
    expect(mistakesOf(withUrl(url))[1]).toContain('wholesale.base_url must be https');
  });

  it('may be http on another machine for a sandbox only', () => {
    const sandbox = withUrl('http://sandbox:8090').replace(
      'wholesale:',
      'wholesale:\n  environment: sandbox',
    );
    expect(mistakesOf(sandbox)).toEqual([]);
  });

  it.each([
    'https://user:pass@api.example.com',
    'https://api.example.com?key=1',
    'ftp://api.example.com',
  ])('must not be %s', (url) => {
    expect(mistakesOf(withUrl(url))[1]).toContain(
      'wholesale.base_url must be an http or https address',
    );
  });

  it('name sealing keys that are no keys, that are the same, or that share an id', () => {
    const key = (first: string): string => Buffer.alloc(32, first).toString('base64');
    const keys = [
      ['k1', 'a'],
      ['k1', 'b'],
      ['k3', 'a'],
    ].map(([id = '', first = '']) => ({ id, value: key(first) }));
    const text = `${minimal}seal: { keys: ${JSON.stringify([...keys, { id: 'k4', value: 'too-short' }])} }\n`;
    const inSandbox = text.replace('wholesale:\n', 'wholesale:\n  environment: sandbox\n');
    expect(mistakesOf(inSandbox).map((line) => line.replace(/^\S+ /, ''))).toEqual([
      'has 3 mistakes:',
      'seal.keys.1.id must differ from the ids of the other keys, got "k1"',
      'seal.keys.2.value is the same key as seal.keys.0',
      'seal.keys.3.value must be base64 of 32 bytes, for example from: openssl rand -base64 32',
    ]);
  });
});
