import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { withoutSecret } from '../../src/core/message-text.ts';

const key = 'sk-Live_9f8e7d6c5b4a/3210+ZyXwVu';
const hidden = (text: string): string => withoutSecret(text, key);
const base64 = (text: string, encoding: 'base64' | 'base64url' = 'base64') =>
  Buffer.from(text).toString(encoding);

describe('a key that the API repeats in its message', () => {
  it.each([
    ['as it is', key],
    ['in capital letters', key.toUpperCase()],
    ['in small letters', key.toLowerCase()],
    ['in hexadecimal', Buffer.from(key).toString('hex')],
    ['in hexadecimal with capital letters', Buffer.from(key).toString('hex').toUpperCase()],
    ['in base64', base64(key).replaceAll('=', '')],
    ['in base64 for addresses', base64(key, 'base64url')],
    ['cut after 20 characters', key.slice(0, 20)],
    ['cut after 12 characters, in base64', base64(key).slice(0, 16)],
  ])('is hidden %s', (_name, form) => {
    // A last character of base64 that also depends on what follows the key says nothing about it.
    expect(hidden(`the key ${form} is not known`)).toMatch(/^the key \[key\].? is not known$/);
    expect(hidden(`${form}|${form}`)).toMatch(/^\[key\].?\|\[key\].?$/);
  });

  it.each(['Bearer ', 'x', 'Authorization: Bearer '])(
    'is hidden in base64 of a longer text that begins with "%s"',
    (before) => {
      const shown = hidden(base64(`${before}${key} and more`));
      expect(shown).toContain('[key]');
      const telling = Buffer.from(shown.replace('[key]', '    '), 'base64').toString('latin1');
      for (let at = 0; at + 6 <= key.length; at += 1)
        expect(telling).not.toContain(key.slice(at, at + 6));
    },
  );

  it('leaves the rest of the text as it is, also letters that have two forms', () => {
    expect(hidden(`İstanbul ${key.toUpperCase()} ẞ`)).toBe('İstanbul [key] ẞ');
    expect(hidden('sk-Live_ is how keys begin')).toBe('sk-Live_ is how keys begin');
    expect(withoutSecret('a text', '')).toBe('a text');
  });

  it('is never left with 12 of its first characters, wherever they stand', () => {
    const anyKey = fc.string({
      unit: fc.constantFrom(...Array.from('abcXYZ019-_/+.')),
      minLength: 12,
      maxLength: 60,
    });
    fc.assert(
      fc.property(anyKey, fc.string(), fc.string(), fc.nat(48), (one, before, after, more) => {
        const shown = withoutSecret(
          `${before}${one.slice(0, 12 + more).toUpperCase()}${after}`,
          one,
        );
        expect(shown.toLowerCase()).not.toContain(one.slice(0, 12).toLowerCase());
      }),
    );
  });
});
