import { chmodSync, chownSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readReferenceSecret } from '../../src/config/reference-secret.ts';
import { folderWith, load, minimal, mistakesOf } from './config-file.ts';
import { loadConfig } from '../../src/config/load.ts';

const inline = minimal.replace('value: file:key', 'value: sk-INLINE');
const variable = 'ORDER_SYNC__WHOLESALE__KEYS__0__VALUE';

describe('the secrets of a configuration', () => {
  it('must not be in a config file in production, because such files are copied', () => {
    expect(mistakesOf(inline)).toEqual([
      'c.yaml has a mistake:',
      `c.yaml:6:14 wholesale.keys.0.value is a secret and must not be in a config file: use file:PATH, or the variable ${variable}`,
    ]);
  });

  it('may be in the file of a sandbox', () => {
    const { config } = load(inline.replace('wholesale:', 'wholesale:\n  environment: sandbox'));
    expect(config.wholesale.keys[0]?.value).toBe('sk-INLINE');
  });

  it('must not be flags, because every process of the machine can read them', () => {
    expect(
      mistakesOf(minimal, { flags: { 'wholesale.keys.0.value': 'sk-FLAG' } }).join(),
    ).toContain('must not be a flag');
    const list = mistakesOf(minimal, {
      flags: { 'wholesale.keys': '[{name: main, value: sk-FLAG}]' },
    }).join();
    expect(list).toContain('must not be a flag');
    expect(list).not.toContain('sk-FLAG');
  });

  it('of a variable count before those of a file', () => {
    const { config } = load(minimal, { environment: { [variable]: 'sk-OTHER' } });
    expect(config.wholesale.keys[0]?.value).toBe('sk-OTHER');
  });

  it('must be set where they are required', () => {
    expect(mistakesOf(minimal.replace('      value: file:key\n', ''))).toEqual([
      'c.yaml has a mistake:',
      `c.yaml:5:7 wholesale.keys.0.value is required: use file:PATH, or the variable ${variable}`,
    ]);
  });

  it.each([
    ['an absent file', undefined, 'must name a file that can be read (ENOENT)'],
    ['an empty file', '\n', 'must name a file that is not empty'],
    [
      'a file of two lines',
      'a\nb\n',
      'must name a file with one line of printable ASCII without spaces',
    ],
  ])('cannot be read from %s', (_, content, problem) => {
    const cwd = folderWith({ 'c.yaml': minimal.replace('key\n', 'other\n') });
    if (content !== undefined) writeFileSync(join(cwd, 'other'), content);
    expect(() => loadConfig({ file: 'c.yaml', environment: {}, cwd })).toThrow(
      `wholesale.keys.0.value ${problem}`,
    );
  });

  it('lose one newline at their end', () => {
    const cwd = folderWith({ 'c.yaml': minimal, key: 'sk-1\r\n' });
    expect(
      loadConfig({ file: 'c.yaml', environment: {}, cwd }).config.wholesale.keys[0]?.value,
    ).toBe('sk-1');
  });

  it('are accepted with a warning from a file that everyone can read', () => {
    const cwd = folderWith({ 'c.yaml': minimal });
    chmodSync(join(cwd, 'key'), 0o644);
    expect(loadConfig({ file: 'c.yaml', environment: {}, cwd }).warnings).toEqual([
      'wholesale.keys.0.value: key can be read by every user of this machine: run chmod 600 on it',
    ]);
  });

  it.skipIf(process.getuid?.() !== 0)(
    'are not closed to the worker by what the warning says, where they belong to another user',
    () => {
      const cwd = folderWith({ 'c.yaml': minimal });
      chmodSync(join(cwd, 'key'), 0o644);
      chownSync(join(cwd, 'key'), 65534, 65534);
      const [warning] = loadConfig({ file: 'c.yaml', environment: {}, cwd }).warnings;
      expect(warning).toContain('run chown 0 and then chmod 400 on it');
    },
  );

  it('are in no message and no explanation, wherever they were written by mistake', () => {
    const texts = [
      inline,
      inline.replace('sk-INLINE', '"sk INLINE"'),
      inline.replace('      value: sk-INLINE', '      valeu: sk-INLINE'),
      minimal.replace('value: file:key', 'value: file:sk-INLINE'),
      minimal.replace(/keys:[\s\S]*/, 'keys: sk-INLINE\n'),
      minimal.replace(/keys:[\s\S]*/, 'keys: [sk-INLINE]\n'),
      `${minimal}admin: { tokens: sk-INLINE }`,
      `${minimal}results: { callbacks: [{ name: x, url: "https://x.example", secrets: [{ value: sk-INLINE }] }] }`,
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
    expect(sandbox.values).toContainEqual(
      expect.objectContaining({ path: 'wholesale.keys.0.value', value: '***' }),
    );
  });
});

describe('the reference secret', () => {
  it('is created once, readable for its owner only, and then stays the same', () => {
    const path = join(folderWith({}), 'deep/reference.secret');
    const created = readReferenceSecret(path, true);
    expect(created).toHaveLength(32);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readReferenceSecret(path, true)).toEqual(created);
    expect(readReferenceSecret(path, false)).toEqual(created);
    expect(readFileSync(path, 'utf8')).toBe(`${created.toString('hex')}\n`);
  });

  it('is not created where that is not allowed, because other references would buy the same orders again', () => {
    expect(() => readReferenceSecret(join(folderWith({}), 'none'), false)).toThrow(
      expect.objectContaining({ code: 'REFERENCE_SECRET_MISSING' }),
    );
  });

  it.each(['', 'short', 'zz'.repeat(32), 'ab'.repeat(31)])(
    'is refused and not changed when it is %j',
    (text) => {
      const path = join(folderWith({ secret: text }), 'secret');
      expect(() => readReferenceSecret(path, true)).toThrow(
        expect.objectContaining({ code: 'CONFIG_INVALID' }),
      );
      expect(readFileSync(path, 'utf8')).toBe(text);
    },
  );
});
