import { describe, expect, it } from 'vitest';
import { load, minimal, mistakesOf } from './config-file.ts';

const tokens = (list: string, more = ''): string => `${minimal}admin:\n  tokens: ${list}\n${more}`;
const files = '[{ name: anna, role: operator, value: file:anna }]';
const variable = (index: number, value: string) => ({
  [`ORDER_SYNC__ADMIN__TOKENS__${index}__VALUE`]: value,
});

describe('the tokens of the pages', () => {
  it('have a name and a role; two of one name are the old and the new one of a rotation', () => {
    const environment = {
      ...variable(0, 'a-token-of-anna-0001'),
      ...variable(1, 'an-earlier-token-01'),
    };
    const both = tokens('[{ name: anna, role: operator }, { name: anna, role: operator }]');
    const { config, values, warnings } = load(both, { environment });
    const secrets = ['a-token-of-anna-0001', 'an-earlier-token-01'];
    expect(config.admin.tokens).toEqual([{ name: 'anna', role: 'operator', secrets }]);
    expect(JSON.stringify(values)).not.toContain('token-of-anna');
    expect(warnings).toEqual([
      'admin.tokens.1: "anna" has more than one token; remove the old one',
    ]);
  });

  it('must be secrets outside the file, long enough, and of one operator each', () => {
    expect(
      mistakesOf(tokens('[{ name: anna, role: operator, value: a-token-of-anna-0001 }]')).join(),
    ).toContain('admin.tokens.0.value is a secret and must not be in a config file');
    expect(
      mistakesOf(tokens('[{ name: anna, role: operator }]'), {
        environment: variable(0, 'short'),
      }).join(),
    ).toContain('admin.tokens.0.value must have at least 16 characters');
    const two = tokens('[{ name: anna, role: operator }, { name: anna, role: viewer }]');
    const environment = {
      ...variable(0, 'a-token-of-anna-0001'),
      ...variable(1, 'a-token-of-anna-0001'),
    };
    const mistakes = mistakesOf(two, { environment }).join('\n');
    expect(mistakes).toContain(
      'admin.tokens.1.name must differ from the name of admin.tokens.0, which has another `role`',
    );
    expect(mistakes).toContain(
      'admin.tokens.1.value is the same secret as admin.tokens.0.value: each token needs a secret of its own',
    );
    expect(mistakesOf(tokens(files)).join()).toContain(
      'admin.tokens.0.value must name a file that can be read',
    );
  });

  it('must not be the token of a shop', () => {
    const shop = `intake:\n  webhook:\n    listen: 127.0.0.1:0\n    tokens: [{ name: shop }]\n`;
    const environment = {
      ...variable(0, 'one-token-for-all-01'),
      ORDER_SYNC__INTAKE__WEBHOOK__TOKENS__0__VALUE: 'one-token-for-all-01',
    };
    expect(
      mistakesOf(tokens('[{ name: anna, role: viewer }]', shop), { environment }).join(),
    ).toContain('admin.tokens.0.value is the same secret as intake.webhook.tokens.0.value');
  });

  it('are missed with a warning where other machines reach the address', () => {
    const warningsOf = (listen: string) =>
      load(`${minimal}admin: { listen: "${listen}" }\n`).warnings.join();
    expect(warningsOf('0.0.0.0:9090')).toContain('no pages are shown; add a token');
    expect(warningsOf('127.0.0.1:9090')).toBe('');
    expect(warningsOf('[::1]:9090')).toBe('');
  });

  it('take host names in small letters', () => {
    expect(mistakesOf(`${minimal}admin: { hosts: [orders.example.com] }\n`)).toEqual([]);
    expect(mistakesOf(`${minimal}admin: { hosts: ["orders.example.com:443"] }\n`).join()).toContain(
      'without port',
    );
  });
});
