import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import mustache from 'mustache';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hasCode } from '../../../src/core/order-sync-error.ts';
import { readTemplates } from '../../../src/results/customer/read-templates.ts';
import { scopes, templateFiles, type TemplateFile } from '../../../src/results/customer/template-variables.ts';
import { languages, ownTemplates, templatesOf } from './rendering.ts';

const programTemplates = resolve(import.meta.dirname, '../../../src/results/customer/templates');

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
function mistakesIn(files: Readonly<Record<string, string | Buffer>>, language = 'en'): string[] {
  const folder = folderOf(files);
  try {
    readTemplates({ templates: folder, language });
  } catch (error) {
    if (!hasCode(error, 'CONFIG_INVALID')) throw error;
    return error.message.split('\n').map((line) => line.trim().replaceAll(`${folder}/`, ''));
  }
  return [];
}

describe('the templates of the program', () => {
  it('are there in five languages, with every file', () => {
    expect(readdirSync(programTemplates).toSorted()).toEqual(['de', 'en', 'es', 'ru', 'zh']);
    for (const language of readdirSync(programTemplates)) {
      expect(readdirSync(join(programTemplates, language)).toSorted()).toEqual(templateFiles.toSorted());
    }
  });

  it.each(languages)('in %s use the same variables as the English ones, in the same order', (language) => {
    for (const file of templateFiles) {
      expect([file, ...namesIn(mustache.parse(templatesOf(language)[file]))]).toEqual([
        file,
        ...namesIn(mustache.parse(templatesOf('en')[file])),
      ]);
    }
  });

  it('use every variable there is, except the id of a line', () => {
    const used = new Set(
      templateFiles.flatMap((file) =>
        namesIn(mustache.parse(templatesOf('en')[file])).map((name) => name.split(' ')[1] ?? ''),
      ),
    );
    const all = Object.values(scopes).flatMap((scope) => [
      ...Object.keys(scope.variables),
      ...Object.keys(scope.lists),
    ]);
    expect([...new Set(all)].filter((name) => !used.has(name))).toEqual(['line_id']);
  });

  it.each(languages.filter((language) => language !== 'en'))('in %s are translated', (language) => {
    const sentence = /[\p{L} ]{12,}/gu;
    const sentences = (name: string, file: TemplateFile): string[] => {
      const words = templatesOf(name)[file].replaceAll(/\{\{[^}]*\}\}|<[^>]*>/g, '|');
      return words.match(sentence) ?? [];
    };
    for (const file of templateFiles) {
      const english = new Set(sentences('en', file));
      expect(sentences(language, file).filter((text) => english.has(text))).toEqual([]);
    }
  });
});

describe('own templates', () => {
  it('take the place of those of the program, file by file', () => {
    const own = 'Hello!\n{{#code}}{{code}}{{/code}}{{pin}}{{url}}\n';
    const templates = readTemplates({ templates: folderOf({ 'EN/gift_card.txt': own }), language: 'en' });
    expect(templates.get('en')).toEqual({ ...templatesOf('en'), 'gift_card.txt': own });
    expect(templates.get('de')).toEqual(templatesOf('de'));
  });

  it('may be in another language, if all of them are there', () => {
    const folder = folderOf({});
    cpSync(ownTemplates, folder, { recursive: true });
    expect(readTemplates({ templates: folder, language: 'he' }).has('he')).toBe(true);
    rmSync(join(folder, 'he', 'esim.txt'));
    expect(() => readTemplates({ templates: folder, language: 'he' })).toThrow(
      `${join(folder, 'he', 'esim.txt')} is missing: a language of your own needs all of order.txt, order.html`,
    );
  });

  const card = '{{code}} {{pin}} {{url}}';
  it.each([
    [
      'en/gift_card.txt',
      `a\nb {{cod}}\n${card}`,
      'en/gift_card.txt:2 {{cod}} is not a known variable; did you mean "code"?',
    ],
    [
      'en/gift_card.txt',
      `${card}{{iccid}}`,
      'en/gift_card.txt:1 {{iccid}} is not known here; expected one of order_id, complete,',
    ],
    [
      'en/gift_card.txt',
      `${card}{{constructor}}`,
      'en/gift_card.txt:1 {{constructor}} is not a known variable; expected',
    ],
    [
      'en/gift_card.txt',
      `${card}{{#pni}}x{{/pni}}`,
      'en/gift_card.txt:1 {{pni}} is not a known variable; did you mean "pin"?',
    ],
    [
      'en/gift_card.txt',
      `${card}{{code.length}}`,
      'en/gift_card.txt:1 {{code.length}} is not a known variable; expected',
    ],
    [
      'en/gift_card.txt',
      `${card}{{#constructor}}x{{/constructor}}`,
      'en/gift_card.txt:1 {{constructor}} is not a known variable; expected',
    ],
    ['en/gift_card.txt', `${card}{{.}}`, 'en/gift_card.txt:1 {{.}} is not a known variable; expected'],
    ['en/gift_card.txt', `${card}\n\n{{{code}}}`, 'en/gift_card.txt:3 {{{code}}} must not be written without escaping'],
    ['en/gift_card.txt', `${card}{{&code}}`, 'en/gift_card.txt:1 {{{code}}} must not be written without escaping'],
    ['en/gift_card.txt', `${card}{{=<% %>=}}`, 'en/gift_card.txt:1 changes the signs {{ and }}'],
    ['en/gift_card.txt', `${card}\n{{#pin}}`, 'en/gift_card.txt:2 is not a valid template: unclosed section "pin"'],
    ['en/gift_card.txt', `${card}\n{{/pin}}`, 'en/gift_card.txt:2 is not a valid template: unopened section "pin"'],
    ['en/gift_card.txt', `${card}\n{{code`, 'en/gift_card.txt:2 is not a valid template: unclosed tag'],
    [
      'en/gift_card.txt',
      `${card}{{> esim}}`,
      'en/gift_card.txt:1 {{> esim}} includes another file: only order.txt and order.html may',
    ],
    ['en/gift_card.txt', `${card}{{complete}}`, 'en/gift_card.txt:1 {{complete}} is only a condition'],
    ['en/gift_card.txt', `${card}{{picture}}`, 'en/gift_card.txt:1 {{picture}} is only a condition'],
    ['en/order.txt', '\n{{> gift_card}}', 'en/order.txt:2 {{> gift_card}} must be within {{#gift_cards}}'],
    [
      'en/order.txt',
      '{{#lines}}{{#esims}}{{> esmi}}{{/esims}}{{/lines}}',
      'en/order.txt:1 {{> esmi}} is not the file of a unit; did you mean "esim"?',
    ],
    ['en/order.txt', '{{lines}}', 'en/order.txt:1 {{lines}} is a list: use {{#lines}}'],
    ['en/order.txt', '{{^lines}}{{product}}{{/lines}}', 'en/order.txt:1 {{product}} is not known here'],
    [
      'en/gift_card.html',
      `<p title="{{pin}}">${card}</p>`,
      'en/gift_card.html:1 {{pin}} must be in the text of the page',
    ],
    ['en/gift_card.html', `<!-- a > {{pin}} -->${card}`, 'en/gift_card.html:1 {{pin}} must be in the text of the page'],
    ['en/gift_card.html', `<p {{pin}}>${card}</p>`, 'en/gift_card.html:1 {{pin}} must be in the text of the page'],
    [
      'en/gift_card.html',
      `<p title="a > {{pin}}">${card}</p>`,
      'en/gift_card.html:1 {{pin}} must be in the text of the page',
    ],
    [
      'en/gift_card.html',
      `${card}{{url_link}}`,
      'en/gift_card.html:1 {{url_link}} is an address: it must be the whole of href=',
    ],
    ['en/gift_card.html', `${card}<a href="x{{url_link}}">`, 'en/gift_card.html:1 {{url_link}} is an address'],
    ['en/gift_card.html', `${card}<a href="{{url_link}}x">`, 'en/gift_card.html:1 {{url_link}} is an address'],
    ['en/gift_card.html', `${card}<a href='{{url_link}}'>`, 'en/gift_card.html:1 {{url_link}} is an address'],
    ['en/gift_card.html', `${card}<img src="{{url_link}}">`, 'en/gift_card.html:1 {{url_link}} is an address'],
    ['en/gift_card.html', `${card}<a href="{{code}}">`, 'en/gift_card.html:1 {{code}} must be in the text of the page'],
    ['en/gift_card.html', `${card}\n<SCRIPT>`, 'en/gift_card.html:2 has <SCRIPT>: mail programs remove it'],
    ['en/gift_card.html', `${card}<style>p{}</style>`, 'en/gift_card.html:1 has <style>: mail programs remove it'],
    ['en/gift-card.txt', card, 'en/gift-card.txt is not a known template; did you mean "gift_card.txt"?'],
    ['en/notes.md', '', 'en/notes.md is not a known template; expected one of order.txt, order.html'],
    ['de-a1/order.txt', '', 'de-a1 is not a folder of a language, for example de'],
    ['readme.md', '', 'readme.md is not a folder of a language, for example de'],
    ['english/order.txt', '', 'english is not a folder of a language, for example de'],
    ['en/order.txt', Buffer.from([0x43, 0xf6]), 'en/order.txt cannot be read: it is not UTF-8'],
    ['en/order.txt', 'x'.repeat(65_537), 'en/order.txt must have at most 65536 bytes'],
  ])('are refused with their place: %s with %j', (name, text, mistake) => {
    const [headline, ...mistakes] = mistakesIn({ [name]: text });
    expect(headline).toMatch(/^results\.customer has (a mistake|\d+ mistakes):$/);
    expect(mistakes.filter((line) => line.startsWith(mistake))).toHaveLength(1);
  });

  it.each([
    ['en/gift_card.html', '{{#code}}{{pin}}{{/code}}{{code}}{{url}}', '{{pin}} of a gift card with nothing else'],
    ['en/gift_card.html', '{{^pin}}{{code}}{{/pin}}{{pin}}{{url}}', '{{code}} of a gift card with every field'],
    ['en/gift_card.html', '{{code}}{{pin}}<a href="{{url_link}}">x</a>', '{{url}} of a gift card with nothing else'],
    [
      'en/gift_card.txt',
      '{{code}}{{pin}}{{^url_link}}{{url}}{{/url_link}}',
      '{{url}} of a gift card with only an https address',
    ],
    ['en/gift_card.html', '{{code}}{{pin}}{{url}}', '{{picture}} of a gift card with only a picture'],
    [
      'en/esim.html',
      '<a href="{{apple_link}}">x</a>{{iccid}}{{confirmation_code}}',
      '{{lpa}} of an eSIM with nothing else',
    ],
    ['en/esim.txt', '{{apple_link}}{{iccid}}{{confirmation_code}}', '{{lpa}} of an eSIM with nothing else'],
    ['en/esim.txt', '{{lpa}}{{#lpa}}{{iccid}}{{/lpa}}', '{{iccid}} of an eSIM with nothing else'],
    ['en/esim.txt', '{{lpa}}{{iccid}}', '{{confirmation_code}} of an eSIM with every field'],
  ])('are refused where a customer would not see what was paid for: %s with %s', (name, text, mistake) => {
    expect(mistakesIn({ [name]: text })).toContain(`${name} does not show ${mistake}`);
  });

  it.each([
    [{ '{{> gift_card}}': '' }, '{{code}} of a gift card with nothing else'],
    [{ '{{> esim}}': '' }, '{{lpa}} of an eSIM with nothing else'],
    [{ '{{#later}}': '{{^later}}' }, '{{later}} of a line with units to come'],
    [{ '{{#by_hand}}': '{{^by_hand}}' }, '{{by_hand}} of a line with units by hand'],
    [{ '{{#not_delivered}}': '{{^not_delivered}}' }, '{{not_delivered_count}} of a line with units that will not come'],
    [{ '{{iccid}}': '' }, '{{top_ups}} of a line with a top-up'],
    [
      { '{{#lines}}': '{{^several_lines}}{{#lines}}', '{{/lines}}': '{{/lines}}{{/several_lines}}' },
      '{{code}} of a gift card with every field',
    ],
    [
      { '{{#lines}}': '{{#complete}}{{#lines}}', '{{/lines}}': '{{/lines}}{{/complete}}' },
      '{{pin}} of a gift card with every field',
    ],
  ])('are refused where the frame hides it: with %j', (changes, mistake) => {
    let frame = templatesOf('en')['order.txt'];
    for (const [written, changed] of Object.entries(changes)) frame = frame.replace(written, changed);
    const mistakes = mistakesIn({ 'en/order.txt': frame });
    expect(mistakes.filter((line) => line.endsWith(mistake))).toEqual([`en/order.txt does not show ${mistake}`]);
  });

  it('have the configured language, or the message names one that is there', () => {
    expect(mistakesIn({}, 'ed')).toEqual([
      'results.customer has a mistake:',
      expect.stringMatching(/^results\.customer\.language ed has no templates; did you mean "(de|es)"\?$/),
    ]);
    expect(mistakesIn({}, 'DE')).toEqual([]);
  });

  it('are in a folder that exists', () => {
    const folder = join(folderOf({}), 'nowhere');
    expect(() => readTemplates({ templates: folder, language: 'en' })).toThrow(`${folder} cannot be read: ENOENT`);
  });

  it('may have hidden files beside them', () => {
    expect(mistakesIn({ '.git/config': '', 'en/.order.txt.swp': '' })).toEqual([]);
  });
});
