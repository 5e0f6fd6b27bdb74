import { describe, expect, it } from 'vitest';
import { load, minimal, mistakesOf } from './config-file.ts';

const alerts = (list: string): string => `${minimal}alerts: ${list}\n`;
const url = (value: string, index = 0) => ({ [`ORDER_SYNC__ALERTS__${index}__URL`]: value });

describe('the endpoints of alerts', () => {
  it('have their address, which is not shown', () => {
    const environment = url('https://hooks.example.com/T1/B2/x');
    const { config, values } = load(alerts('[{ name: ops, format: slack }]'), { environment });
    expect(config.alerts).toEqual([
      {
        name: 'ops',
        url: 'https://hooks.example.com/T1/B2/x',
        format: 'slack',
        to: null,
        from: null,
        lastsMs: 60_000,
        gapMs: 60_000,
        intervalMs: 900_000,
        remindMs: 3_600_000,
        connectMs: 5000,
        totalMs: 15_000,
      },
    ]);
    expect(JSON.stringify(values)).not.toContain('hooks.example.com');
  });

  it('may be mail servers, with a user and a password', () => {
    const list = '[{ name: ops, format: email, to: [ops@example.com], from: a@example.com }]';
    const server = 'smtps://bot%40example.com:p%2Fw@mail.example.com:465';
    const { config } = load(alerts(list), { environment: url(server) });
    expect(config.alerts).toMatchObject([
      { url: server, to: ['ops@example.com'], from: 'a@example.com' },
    ]);
  });

  it.each([
    'https://mail.example.com',
    'smtps://bot:p%w@mail.example.com',
    'smtps://bot:p/w@mail.example.com',
    'smtps://mail.example.com?tls.rejectUnauthorized=false',
    'smtp://',
  ])('are no mail server with the address %s', (server) => {
    const list = '[{ name: ops, format: email, to: [ops@example.com], from: a@example.com }]';
    expect(mistakesOf(alerts(list), { environment: url(server) }).slice(1)).toEqual([
      expect.stringContaining('alerts.0.url must be smtps://user:password@host'),
    ]);
  });

  it.each([
    [
      'send mails to nobody',
      '[{ name: ops, format: email, from: a@example.com }]',
      url('smtps://hooks.example.com'),
      'alerts.0.to is required',
    ],
    [
      'send mails to what is no address',
      '[{ name: ops, format: email, to: ["ops"], from: a@example.com }]',
      url('smtps://hooks.example.com'),
      'Invalid email address',
    ],
    [
      'have their address in the file',
      '[{ name: ops, url: "https://hooks.example.com/T1" }]',
      {},
      'must not be in a config file',
    ],
    ['have no address', '[{ name: ops }]', {}, 'alerts.0.url is required'],
    [
      'would post unencrypted',
      '[{ name: ops }]',
      url('http://hooks.example.com/T1'),
      'must be https',
    ],
    [
      'have an address with a password',
      '[{ name: ops }]',
      url('https://a:b@hooks.example.com/T1'),
      'without user',
    ],
    [
      'share a name',
      '[{ name: ops }, { name: ops }]',
      { ...url('https://hooks.example.com/T1'), ...url('https://hooks.example.com/T2', 1) },
      'must differ from the names of the other alerts, got "ops"',
    ],
  ])('are refused when they %s, without a word of the address', (_, list, environment, problem) => {
    const mistakes = mistakesOf(alerts(list), { environment }).slice(1);
    expect(mistakes).toEqual([expect.stringContaining(problem)]);
    expect(mistakes.join()).not.toContain('hooks.example.com');
  });
});
