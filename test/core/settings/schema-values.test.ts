import { describe, expect, it } from 'vitest';
import { isLoopback, withoutUrlSecrets } from '../../../src/core/settings/schema-values.ts';
import { minimal, mistakesOf } from '../../config/config-file.ts';

describe('an address that cannot be used', () => {
  it.each([
    ['https://user:hunter22@api.example.com/v1', 'https://***@api.example.com/v1'],
    ['https://user:hunt/er@22@api.example.com', 'https://***@api.example.com'],
    ['https://hunter22@api.example.com', 'https://***@api.example.com'],
    ['user:hunter22@api.example.com', '***@api.example.com'],
    ['https://api.example.com/v1?token=hunter22', 'https://api.example.com/v1?***'],
    ['https://api.example.com/#hunter22', 'https://api.example.com/#***'],
    ['somebody@example.com', 'somebody@example.com'],
    ['what?', 'what?'],
  ])('%s is shown as %s', (given, shown) => {
    expect(withoutUrlSecrets(given)).toBe(shown);
  });

  it.each(['https://user:hunter22@api.example.com/v1', 'https://api.example.com/v1?key=hunter22'])(
    'is shown in the mistakes of a configuration without its secret: %s',
    (url) => {
      const text = mistakesOf(minimal.replace('https://api.example.com/v1', url)).join('\n');
      expect(text).toContain('base_url must be an http or https address');
      expect(text).toContain('***');
      expect(text).not.toContain('hunter22');
    },
  );
});

describe('only this machine itself', () => {
  it.each(['localhost', 'LOCALHOST', '127.0.0.1', '127.1.2.3', '[::1]', '::1'])('is %s', (host) => {
    expect(isLoopback(host)).toBe(true);
  });

  it.each([
    'api.localhost',
    'localhost.example.com',
    'localhost.',
    '127.0.0.1.nip.io',
    '127.0.0.256',
    '128.0.0.1',
    '::2',
  ])('is not %s', (host) => {
    expect(isLoopback(host)).toBe(false);
  });

  it('may be called without https in production', () => {
    const of = (url: string) =>
      mistakesOf(minimal.replace('https://api.example.com/v1', url)).join('\n');
    expect(of('http://localhost:8090')).toBe('');
    expect(of('http://api.localhost:8090')).toContain('must be https');
  });
});
