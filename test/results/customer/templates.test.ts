import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import mustache from 'mustache';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hasCode } from '../../../src/core/order-sync-error.ts';
import { readTemplates } from '../../../src/results/customer/read-templates.ts';
import { scopes, templateFiles } from '../../../src/results/customer/template-variables.ts';
import { programTemplates } from './rendering.ts';

const orderText = programTemplates.get('order.txt') ?? '';
const programFolder = resolve(import.meta.dirname, '../../../src/results/customer/templates');

/** The names in a template, with the sign before each. */
function namesIn(tokens: readonly unknown[]): string[] {
  return tokens.flatMap((token) => {
    if (!Array.isArray(token) || token[0] === 'text') return [];
    return [`${token[0]} ${token[1]}`, ...(Array.isArray(token[4]) ? namesIn(token[4]) : [])];
  });
}

/** A folder with these templates, and nothing else. */
function folderOf(files: Readonly<Record<string, string | Buffer>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-templates-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

/** The mistakes in these templates, without the folder in which they are. */
function mistakesIn(files: Readonly<Record<string, string | Buffer>>): string[] {
  const folder = folderOf(files);
  try {
    readTemplates(folder);
  } catch (error) {
    if (!hasCode(error, 'CONFIG_INVALID')) throw error;
    return error.message.split('\n').map((line) => line.trim().replaceAll(`${folder}/`, ''));
  }
  return [];
}

describe('the templates of the program', () => {
  it('are all there, without a mistake', () => {
    expect(readdirSync(programFolder).toSorted()).toEqual(templateFiles.toSorted());
    expect([...readTemplates(null).keys()].toSorted()).toEqual(templateFiles.toSorted());
  });

  it('use every variable there is, except the id of a line', () => {
    const used = new Set(
      templateFiles.flatMap((file) =>
        namesIn(mustache.parse(programTemplates.get(file) ?? '')).map((name) => name.split(' ')[1] ?? ''),
      ),
    );
    const all = Object.values(scopes).flatMap((scope) => Object.keys(scope));
    expect([...new Set(all)].filter((name) => !used.has(name))).toEqual(['line_id']);
  });
});

describe('own templates', () => {
  it('take the place of those of the program, file by file', () => {
    const own = 'Hello!\n{{#code}}{{code}}{{/code}}{{pin}}{{url}}\n';
    const expected = new Map(programTemplates).set('gift_card.txt', own);
    expect(readTemplates(folderOf({ 'gift_card.txt': own }))).toEqual(expected);
  });

  const card = '{{code}} {{pin}} {{url}}';
  it.each([
    ['gift_card.txt', `a\nb {{cod}}\n${card}`, 'gift_card.txt:2 {{cod}} is not a known variable; did you mean "code"?'],
    [
      'gift_card.txt',
      `${card}{{iccid}}`,
      'gift_card.txt:1 {{iccid}} is not known here; expected one of order_id, complete,',
    ],
    ['gift_card.txt', `${card}{{constructor}}`, 'gift_card.txt:1 {{constructor}} is not a known variable; expected'],
    [
      'gift_card.txt',
      `${card}{{#pni}}x{{/pni}}`,
      'gift_card.txt:1 {{pni}} is not a known variable; did you mean "pin"?',
    ],
    ['gift_card.txt', `${card}{{code.length}}`, 'gift_card.txt:1 {{code.length}} is not a known variable; expected'],
    [
      'gift_card.txt',
      `${card}{{#constructor}}x{{/constructor}}`,
      'gift_card.txt:1 {{constructor}} is not a known variable; expected',
    ],
    ['gift_card.txt', `${card}{{.}}`, 'gift_card.txt:1 {{.}} is not a known variable; expected'],
    ['gift_card.txt', `${card}\n\n{{{code}}}`, 'gift_card.txt:3 {{{code}}} must not be written without escaping'],
    ['gift_card.txt', `${card}{{&code}}`, 'gift_card.txt:1 {{{code}}} must not be written without escaping'],
    ['gift_card.txt', `${card}{{=<% %>=}}`, 'gift_card.txt:1 changes the signs {{ and }}'],
    ['gift_card.txt', `${card}\n{{#pin}}`, 'gift_card.txt:2 is not a valid template: unclosed section "pin"'],
    ['gift_card.txt', `${card}\n{{/pin}}`, 'gift_card.txt:2 is not a valid template: unopened section "pin"'],
    ['gift_card.txt', `${card}\n{{code`, 'gift_card.txt:2 is not a valid template: unclosed tag'],
    [
      'gift_card.txt',
      `${card}{{> esim}}`,
      'gift_card.txt:1 {{> esim}} includes another file: only order.txt and order.html may',
    ],
    ['gift_card.txt', `${card}{{complete}}`, 'gift_card.txt:1 {{complete}} is only a condition'],
    ['gift_card.txt', `${card}{{picture}}`, 'gift_card.txt:1 {{picture}} is only a condition'],
    ['order.txt', '\n{{> gift_card}}', 'order.txt:2 {{> gift_card}} must be within {{#gift_cards}}'],
    [
      'order.txt',
      '{{#lines}}{{#esims}}{{> esmi}}{{/esims}}{{/lines}}',
      'order.txt:1 {{> esmi}} is not the file of a unit; did you mean "esim"?',
    ],
    ['order.txt', '{{lines}}', 'order.txt:1 {{lines}} is a list: use {{#lines}}'],
    ['order.txt', '{{^lines}}{{product}}{{/lines}}', 'order.txt:1 {{product}} is not known here'],
    ['gift_card.html', `<p title="{{pin}}">${card}</p>`, 'gift_card.html:1 {{pin}} must be in the text of the page'],
    ['gift_card.html', `<!-- a > {{pin}} -->${card}`, 'gift_card.html:1 {{pin}} must be in the text of the page'],
    ['gift_card.html', `<p {{pin}}>${card}</p>`, 'gift_card.html:1 {{pin}} must be in the text of the page'],
    [
      'gift_card.html',
      `<p title="a > {{pin}}">${card}</p>`,
      'gift_card.html:1 {{pin}} must be in the text of the page',
    ],
    [
      'gift_card.html',
      `${card}{{url_link}}`,
      'gift_card.html:1 {{url_link}} is an address: it must be the whole of href=',
    ],
    ['gift_card.html', `${card}<a href="x{{url_link}}">`, 'gift_card.html:1 {{url_link}} is an address'],
    ['gift_card.html', `${card}<a href="{{url_link}}x">`, 'gift_card.html:1 {{url_link}} is an address'],
    ['gift_card.html', `${card}<a href='{{url_link}}'>`, 'gift_card.html:1 {{url_link}} is an address'],
    ['gift_card.html', `${card}<img src="{{url_link}}">`, 'gift_card.html:1 {{url_link}} is an address'],
    ['gift_card.html', `${card}<a href="{{code}}">`, 'gift_card.html:1 {{code}} must be in the text of the page'],
    ['gift_card.html', `${card}\n<SCRIPT>`, 'gift_card.html:2 has <SCRIPT>: mail programs remove it'],
    ['gift_card.html', `${card}<style>p{}</style>`, 'gift_card.html:1 has <style>: mail programs remove it'],
    ['gift-card.txt', card, 'gift-card.txt is not a known template; did you mean "gift_card.txt"?'],
    ['notes.md', '', 'notes.md is not a known template; expected one of order.txt, order.html'],
    ['de/order.txt', '', 'de is not a known template; expected one of order.txt, order.html'],
    ['order.txt', Buffer.from([0x43, 0xf6]), 'order.txt cannot be read: it is not UTF-8'],
    ['order.txt', 'x'.repeat(65_537), 'order.txt must have at most 65536 bytes'],
  ])('are refused with their place: %s with %j', (name, text, mistake) => {
    const [headline, ...mistakes] = mistakesIn({ [name]: text });
    expect(headline).toMatch(/^results\.customer has (a mistake|\d+ mistakes):$/);
    expect(mistakes.filter((line) => line.startsWith(mistake))).toHaveLength(1);
  });

  it.each([
    ['gift_card.html', '{{code}}{{pin}}<a href="{{url_link}}">x</a>', 'url'],
    ['gift_card.txt', '{{#code}}{{/code}}{{url}}', 'pin'],
    ['esim.html', '<a href="{{apple_link}}">x</a>{{iccid}}{{confirmation_code}}', 'lpa'],
    ['esim.txt', '{{lpa}}{{iccid}}', 'confirmation_code'],
    ['order.txt', orderText.replace('{{> gift_card}}', ''), '> gift_card'],
    ['order.txt', orderText.replaceAll('by_hand', 'later'), 'by_hand'],
  ])('are refused where a customer would not see what was paid for: %s with %j', (name, text, missing) => {
    expect(mistakesIn({ [name]: text }).slice(1)).toEqual([
      `${name}:1 has no {{${missing}}}: a customer would not see what was paid for`,
    ]);
  });

  it('are in a folder that exists', () => {
    const folder = join(folderOf({}), 'nowhere');
    expect(() => readTemplates(folder)).toThrow(`${folder} cannot be read: ENOENT`);
  });

  it('may have hidden files beside them', () => {
    expect(mistakesIn({ '.git/config': '', '.order.txt.swp': '' })).toEqual([]);
  });
});
