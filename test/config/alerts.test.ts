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
        intervalMs: 900_000,
        connectMs: 5000,
        totalMs: 15_000,
      },
    ]);
    expect(JSON.stringify(values)).not.toContain('hooks.example.com');
  });

  it.each([
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
