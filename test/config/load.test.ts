import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folderWith, load, minimal, mistakesOf } from './config-file.ts';
import { loadConfig } from '../../src/config/load.ts';

describe('loading a configuration', () => {
  it('fills in every default, makes every path absolute and reads every secret', () => {
    const { config, cwd, warnings } = load(minimal);
    expect(config).toMatchObject({
      instance: 'acme',
      dataDir: join(cwd, 'data'),
      databasePath: join(cwd, 'data/order-sync.db'),
      init: 'never',
      reference: { prefix: 'os', secretFile: join(cwd, 'data/reference.secret') },
      intake: {
        folders: [
          {
            name: 'folder',
            source: 'folder',
            inbox: join(cwd, 'data/inbox'),
            work: join(cwd, 'data/work'),
            createsInbox: false,
            scanIntervalMs: 1000,
            stableMs: 2000,
            unfinishedMs: 600_000,
            archive: join(cwd, 'data/archive'),
            rejected: join(cwd, 'data/rejected'),
          },
        ],
      },
      wholesale: {
        environment: 'production',
        keys: [{ name: 'main', value: 'sk-main' }],
        limits: { windowMs: 60_000, transitMs: 5000, requests: 60, orders: 20 },
      },
      submit: {
        maxUnknownOutcomes: 8,
        inFlightWindowMs: 120_000,
        referenceExpiryMs: 86_400_000,
        placedDeadlineMs: 86_400_000,
        cancelTries: 3,
        retryTimeScale: 1,
      },
      results: { folder: join(cwd, 'data/results') },
      admin: { listen: { host: '127.0.0.1', port: 9090 } },
    });
    expect(warnings).toEqual([]);
  });

  it('puts the other folders beside each inbox, because a rename cannot cross mounts', () => {
    const { config } = load(
      `${minimal}intake: { folders: [{ name: shop, inbox: /mnt/shop/inbox }] }`,
    );
    const folder = {
      work: '/mnt/shop/work',
      archive: '/mnt/shop/archive',
      rejected: '/mnt/shop/rejected',
    };
    expect(config.intake.folders).toMatchObject([
      { name: 'shop', source: 'shop', inbox: '/mnt/shop/inbox', ...folder },
    ]);
  });

  it('gives each watched folder paths, a source and settings of its own', () => {
    const listed =
      '[{ name: folder, currency: USD }, { name: amazon, source: amz, columns: { order_id: Id } }]';
    const { config, cwd } = load(`${minimal}intake: { folders: ${listed} }`);
    expect(config.intake.folders).toMatchObject([
      {
        name: 'folder',
        source: 'folder',
        currency: 'USD',
        inbox: join(cwd, 'data/inbox'),
        columns: {},
      },
      {
        name: 'amazon',
        source: 'amz',
        currency: null,
        inbox: join(cwd, 'data/amazon/inbox'),
        columns: { order_id: 'Id' },
      },
    ]);
    expect(config.intake.folders.map(({ archive }) => archive)).toEqual([
      join(cwd, 'data/archive'),
      join(cwd, 'data/amazon/archive'),
    ]);
  });

  it('watches no folder where the list is empty, and the folder `folder` where there is no list', () => {
    expect(load(`${minimal}intake: { folders: [] }`).config.intake.folders).toEqual([]);
    const listed = load(`${minimal}intake: { folders: [{ name: folder }] }`);
    const { cwd, config } = load(minimal);
    const at = (text: unknown) => JSON.stringify(text).replaceAll(listed.cwd, cwd);
    expect(at(listed.config.intake.folders)).toBe(at(config.intake.folders));
  });

  it('has shorter times for trials, only with a sandbox', () => {
    const trial = 'trial: { time_scale: 0.01, window_ms: 1000, transit_ms: 20 }\n';
    const { config } = load(
      minimal.replace('wholesale:', 'wholesale:\n  environment: sandbox') + trial,
    );
    expect(config).toMatchObject({
      intake: { folders: [{ scanIntervalMs: 50, stableObservations: 3, stableMs: 50 }] },
      wholesale: { limits: { windowMs: 1000, transitMs: 20, requests: 60, orders: 20 } },
      submit: { retryTimeScale: 0.01, inFlightWindowMs: 120_000 },
    });
    const rule = 'trial is only for trials: remove it, or set `wholesale.environment: sandbox`';
    expect(mistakesOf(`${minimal}${trial}`)[1]).toContain(rule);
    expect(
      mistakesOf(minimal, { environment: { ORDER_SYNC__TRIAL__TIME_SCALE: '0' } })[1],
    ).toContain(rule);
  });

  it('lets the environment override the file, and flags override both', () => {
    const text = `${minimal}log: { level: warn }\nsubmit: { concurrency: 3, in_flight_window_ms: 3 }`;
    const environment = {
      ORDER_SYNC__LOG__LEVEL: 'error',
      ORDER_SYNC__SUBMIT__IN_FLIGHT_WINDOW_MS: '4',
      ORDER_SYNC__SUBMIT__CONCURRENCY: '',
      ORDER_SYNC__ADMIN__LISTEN: '[::1]:0',
      UNRELATED: 'x',
    };
    const { config } = load(text, { environment, flags: { 'log.level': 'debug' } });
    expect(config.log.level).toBe('debug');
    expect(config.submit).toMatchObject({
      concurrency: 3,
      maxUnknownOutcomes: 3,
      inFlightWindowMs: 4,
    });
    expect(config.admin.listen).toEqual({ host: '::1', port: 0 });
  });

  it('reads the entries of a list from numbered variables, and keeps text that looks like a number', () => {
    const environment = {
      ORDER_SYNC__WHOLESALE__KEYS__0__NAME: 'main',
      ORDER_SYNC__WHOLESALE__KEYS__0__VALUE: '0123',
      ORDER_SYNC__WHOLESALE__KEYS__1__NAME: 'second',
      ORDER_SYNC__WHOLESALE__KEYS__1__VALUE: 'file:key',
    };
    const { config } = load('instance: acme\nwholesale: { base_url: https://api.example.com }', {
      environment,
    });
    expect(config.wholesale.keys).toMatchObject([
      { name: 'main', value: '0123' },
      { name: 'second', value: 'sk-main' },
    ]);
  });

  it('reads the file that ORDER_SYNC_CONFIG names, and config/order-sync.yaml without it', () => {
    const cwd = folderWith({
      'a.yaml': minimal.replace('acme', 'one'),
      'config/order-sync.yaml': minimal,
    });
    expect(loadConfig({ cwd, environment: { ORDER_SYNC_CONFIG: 'a.yaml' } }).config.instance).toBe(
      'one',
    );
    expect(loadConfig({ cwd, environment: {} }).config.instance).toBe('acme');
    expect(
      loadConfig({
        cwd,
        environment: { ORDER_SYNC_CONFIG: 'a.yaml' },
        file: 'config/order-sync.yaml',
      }).file,
    ).toBe('config/order-sync.yaml');
  });

  it('says of a missing file how to name or create one', () => {
    expect(() => loadConfig({ cwd: folderWith({}), environment: {} })).toThrow(
      expect.objectContaining({
        code: 'CONFIG_INVALID',
        message: 'The config file config/order-sync.yaml does not exist',
        hint: expect.stringContaining('--config'),
      }),
    );
  });

  it('does not change the sections that other modules read', () => {
    const { config } = load(`${minimal}  wire: { orders: { path: /x } }\nsandbox: { seed: 7 }`);
    expect(config.wholesale.wire).toEqual({ orders: { path: '/x' } });
    expect(config.sandbox).toEqual({ seed: 7 });
  });

  it('ignores a section whose keys are all commented out, but refuses a key without a value', () => {
    expect(load(`${minimal}submit:\n  # concurrency: 3\n`).config.submit.concurrency).toBe(8);
    expect(mistakesOf(`${minimal}submit:\n  concurrency:\n`)).toEqual([
      'c.yaml has a mistake:',
      'c.yaml:8:15 submit.concurrency must be a whole number, got nothing',
    ]);
  });

  it('distinguishes a CSV column that a shop does not have from one with another name', () => {
    const { config } = load(
      `${minimal}intake: { folders: [{ name: a, columns: { order_id: "Order No.", days: null } }] }`,
    );
    expect(config.intake.folders[0]?.columns).toEqual({ order_id: 'Order No.', days: null });
  });

  it('names the origin of every value', () => {
    const { values } = load(minimal, {
      environment: { ORDER_SYNC__LOG__LEVEL: 'error' },
      flags: { 'submit.concurrency': '2' },
    });
    const sources = Object.fromEntries(values.map(({ path, ...rest }) => [path, rest]));
    expect(sources['instance']).toEqual({ value: 'acme', source: 'file', place: 'c.yaml:1:11' });
    expect(sources['log.level']).toEqual({
      value: 'error',
      source: 'environment',
      place: 'ORDER_SYNC__LOG__LEVEL',
    });
    expect(sources['submit.concurrency']).toEqual({ value: 2, source: 'flag', place: '--set' });
    expect(sources['submit.in_flight_window_ms']).toEqual({
      value: 120_000,
      source: 'default',
      place: '',
    });
  });
});
