import fc from 'fast-check';
import { defaultTreeAdapter, type DefaultTreeAdapterTypes, parseFragment } from 'parse5';
import { describe, expect, it } from 'vitest';
import { revealedUnits } from '../../src/admin/actions/action-routes.ts';
import type { Unit } from '../../src/core/answers/order-answer.ts';
import { labelledFields, unitFieldNames } from '../../src/core/answers/unit-fields.ts';
import { readEnteredUnits } from '../../src/core/operator/units-by-operator.ts';
import { csvResultCells, csvResultColumns } from '../../src/core/result/csv-result.ts';
import type { ResultLine } from '../../src/core/result/result-document.ts';
import { customerNoteFor } from '../storefronts/woocommerce/note-of-units.ts';

const calm: Unit = {
  ...Object.fromEntries(unitFieldNames.map((name) => [name, `the ${name}`])),
  lpa: 'LPA:1$smdp.example.com$K2-ABCDE-1FGHIJ',
};

const note = async (unit: Unit): Promise<string> => customerNoteFor({ id: 7 }, unit).text;
const page = async (unit: Unit): Promise<string> =>
  (await revealedUnits('os-1', [unit], null)).toString();

function csvCell(unit: Unit, name: (typeof unitFieldNames)[number]): string | undefined {
  const entry: ResultLine['entries'][number] = {
    reference: 'os-1',
    operation: 'esim_order',
    state: 'fulfilled',
    resolved_by: null,
    order_number: null,
    currency: null,
    cost: null,
    units: [unit],
    error: null,
  };
  const cells = csvResultCells({ line_id: '1', state: 'fulfilled', entries: [entry], error: null });
  return cells[csvResultColumns.indexOf(`result_${name}`)];
}

/** The elements of a page as a browser reads it, in their order, and the texts between them. */
function readPage(html: string): {
  readonly elements: readonly string[];
  readonly texts: readonly string[];
} {
  const elements: string[] = [];
  const texts: string[] = [];
  const visit = (node: DefaultTreeAdapterTypes.ChildNode): void => {
    if (defaultTreeAdapter.isTextNode(node)) return void texts.push(node.value);
    if (!defaultTreeAdapter.isElementNode(node)) return;
    elements.push(`${node.tagName} ${node.attrs.map(({ name }) => name).join(' ')}`);
    for (const child of node.childNodes) visit(child);
  };
  for (const node of parseFragment(html).childNodes) visit(node);
  return { elements, texts };
}

describe('every field of a unit', () => {
  it.each(unitFieldNames)(
    'stands in the note, on the page and in the CSV result, and can be entered: %s',
    async (name) => {
      const value = calm[name] ?? '';
      const label = labelledFields(calm).find((field) => field.name === name)?.label;
      expect(await note(calm)).toContain(`${label}: <code>${value}</code>`);
      expect(await page(calm)).toContain(
        `<dt>${label}</dt><dd><span class="code" data-copy>${value}</span></dd>`,
      );
      expect(csvCell(calm, name)).toBe(value);
      expect(readEnteredUnits(JSON.stringify([{ [name]: value }]))).toEqual([{ [name]: value }]);
    },
  );

  it('and the status, which is for operators, stand on the page', async () => {
    const shown = await page({ ...calm, status: 'issued' });
    expect(shown).toContain('<dt>Status</dt><dd><span class="code" data-copy>issued</span></dd>');
  });
});

/** What an attacker, or a careless supplier, would write in the place of a code. */
const strange = [
  '</code><script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  '<!--',
  '-->',
  '<plaintext>',
  '&lt;b&gt; &amp; &#60; &nbsp;',
  String.raw`a\b`,
  'javascript:alert(1)',
  'https://a.example/"><script>',
];
const value = fc.oneof(fc.constantFrom(...strange), fc.stringMatching(/^[!-~]+$/));

describe('no value of a unit', () => {
  it.each([
    ['a note', note],
    ['a page', page],
  ])('changes %s around it, and each is in it unaltered', async (_place, render) => {
    const withoutLinks = (html: string) =>
      readPage(html)
        .elements.filter((element) => element !== 'a href')
        // A page makes a link of an https address.
        .map((element) => element.replace(/^a href rel data-copy$/, 'span class data-copy'));
    const expected = withoutLinks(await render(calm));
    await fc.assert(
      fc.asyncProperty(
        fc.record(Object.fromEntries(unitFieldNames.map((name) => [name, value]))),
        async (unit: Unit) => {
          const html = await render(unit);
          expect(withoutLinks(html)).toEqual(expected);
          expect(readPage(html).texts).toEqual(
            expect.arrayContaining(unitFieldNames.map((name) => unit[name])),
          );
        },
      ),
      { numRuns: Number(process.env['FUZZ_RUNS'] ?? 200) },
    );
  });
});
