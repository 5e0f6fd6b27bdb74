import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readReferenceSecret } from '../../src/config/reference-secret.ts';
import { folderWith, load, minimal, mistakesOf } from './config-file.ts';
import { loadConfig } from '../../src/config/load.ts';

const inline = minimal.replace('value_file: key', 'value: sk-INLINE');
const variable = 'ORDER_SYNC__WHOLESALE__KEYS__0__VALUE';

describe('secrets of a configuration', () => {
  it('are a mistake in a config file in production, whose copies go everywhere', () => {
    expect(mistakesOf(inline)).toEqual([
      'c.yaml has a mistake:',
      `c.yaml:6:14 wholesale.keys.0.value holds a secret in a config file: use value_file, or the variable ${variable}`,
    ]);
  });

  it('may stand in the file of a sandbox', () => {
    const { config } = load(inline.replace('wholesale:', 'wholesale:\n  environment: sandbox'));
    expect(config.wholesale.keys[0]?.value).toBe('sk-INLINE');
  });

  it('are never flags, which every process of the machine can read', () => {
    expect(mistakesOf(minimal, { flags: { 'wholesale.keys.0.value': 'sk-FLAG' } }).join()).toContain('never a flag');
    const list = mistakesOf(minimal, { flags: { 'wholesale.keys': '[{name: main, value: sk-FLAG}]' } }).join();
    expect(list).toContain('never a flag');
    expect(list).not.toContain('sk-FLAG');
  });

  it('come from one place: key and file together are a mistake', () => {
    expect(mistakesOf(minimal, { environment: { [variable]: 'sk-OTHER' } })).toEqual([
      'c.yaml has a mistake:',
      `${variable} wholesale.keys.0.value and wholesale.keys.0.value_file are both set: choose one`,
    ]);
  });

  it('come from somewhere', () => {
    expect(mistakesOf(minimal.replace('      value_file: key\n', ''))).toEqual([
      'c.yaml has a mistake:',
      `c.yaml:5:7 wholesale.keys.0.value is required: use value_file, or the variable ${variable}`,
    ]);
  });

  it.each([
    ['an absent file', undefined, 'must name a file that can be read (ENOENT)'],
    ['an empty file', '\n', 'must name a file that is not empty'],
    ['a file of two lines', 'a\nb\n', 'must name a file with one line of printable ASCII without spaces'],
  ])('cannot come from %s', (_, content, problem) => {
    const cwd = folderWith({ 'c.yaml': minimal.replace('key\n', 'other\n') });
    if (content !== undefined) writeFileSync(join(cwd, 'other'), content);
    expect(() => loadConfig({ file: 'c.yaml', environment: {}, cwd })).toThrow(
      `wholesale.keys.0.value_file ${problem}`,
    );
  });

  it('lose one newline at their end and nothing else', () => {
    const cwd = folderWith({ 'c.yaml': minimal, key: 'sk-1\r\n' });
    expect(loadConfig({ file: 'c.yaml', environment: {}, cwd }).config.wholesale.keys[0]?.value).toBe('sk-1');
  });

  it('in a file that everyone can read are used, with a warning', () => {
    const cwd = folderWith({ 'c.yaml': minimal });
    chmodSync(join(cwd, 'key'), 0o644);
    expect(loadConfig({ file: 'c.yaml', environment: {}, cwd }).warnings).toEqual([
      'wholesale.keys.0.value_file: key can be read by every user of this machine: chmod 600',
    ]);
  });

  it('are shown by no message and no explanation, wherever they were written by mistake', () => {
    const texts = [
      inline,
      inline.replace('sk-INLINE', '"sk INLINE"'),
      inline.replace('      value: sk-INLINE', '      valeu: sk-INLINE'),
      minimal.replace('value_file: key', 'value_file: sk-INLINE'),
      minimal.replace(/keys:[\s\S]*/, 'keys: sk-INLINE\n'),
      minimal.replace(/keys:[\s\S]*/, 'keys: [sk-INLINE]\n'),
      `${minimal}admin: { tokens: sk-INLINE }`,
      `${minimal}results: { callback: { url: "https://x.example", secret: sk-INLINE } }`,
    ];
    for (const text of texts) {
      const mistakes = mistakesOf(text);
      expect(mistakes.length).toBeGreaterThan(1);
      expect(mistakes.join('\n')).not.toContain('INLINE');
    }
    const sandbox = load(
      `${inline.replace('wholesale:', 'wholesale:\n  environment: sandbox')}sandbox: { key: sk-INLINE }`,
    );
    expect(JSON.stringify(sandbox.values)).not.toContain('INLINE');
    expect(sandbox.values).toContainEqual(expect.objectContaining({ path: 'wholesale.keys.0.value', value: '***' }));
  });
});

describe('the reference secret', () => {
  it('is made once, for its owner only, and is the same afterwards', () => {
    const path = join(folderWith({}), 'deep/reference.secret');
    const made = readReferenceSecret(path, true);
    expect(made).toHaveLength(32);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readReferenceSecret(path, true)).toEqual(made);
    expect(readReferenceSecret(path, false)).toEqual(made);
    expect(readFileSync(path, 'utf8')).toBe(`${made.toString('hex')}\n`);
  });

  it('is not made where that was not allowed: other references would buy the same orders again', () => {
    expect(() => readReferenceSecret(join(folderWith({}), 'none'), false)).toThrow(
      expect.objectContaining({ code: 'REFERENCE_SECRET_MISSING' }),
    );
  });

  it.each(['', 'short', 'zz'.repeat(32), 'ab'.repeat(31)])('is refused when it is %j, and is left as it is', (text) => {
    const path = join(folderWith({ secret: text }), 'secret');
    expect(() => readReferenceSecret(path, true)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    expect(readFileSync(path, 'utf8')).toBe(text);
  });
});
