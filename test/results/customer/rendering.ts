import { defaultTreeAdapter, parseFragment, type DefaultTreeAdapterTypes } from 'parse5';
import type { Unit } from '../../../src/core/answers/order-answer.ts';
import type { DeliveredLine } from '../../../src/core/result/delivered-lines.ts';
import type { CustomerText } from '../../../src/core/result/result-document.ts';
import { type QrCode, qrCodeOf, renderOrder } from '../../../src/results/customer/render-order.ts';
import type { Templates } from '../../../src/results/customer/template-variables.ts';
import { readTemplates } from '../../../src/results/customer/read-templates.ts';

/** The templates of the program. */
export const programTemplates = readTemplates(null);

export const emptyLine: DeliveredLine = {
  line_id: '1',
  product: 'steam-10',
  giftCards: [],
  esims: [],
  toppedUp: [],
  later: 0,
  byHand: 0,
  notDelivered: 0,
};

/** What the customer of an order with these lines reads. */
export function textOf(...lines: readonly Partial<DeliveredLine>[]): CustomerText {
  return textWith(programTemplates, ...lines);
}

/** The same with own templates. */
export function textWith(templates: Templates, ...lines: readonly Partial<DeliveredLine>[]): CustomerText {
  const full = lines.map((line) => ({ ...emptyLine, ...line }));
  const codes = full.flatMap(({ esims }) => esims.flatMap(({ lpa }) => lpa ?? []));
  const qrCodes = new Map(
    codes.flatMap((lpa): [string, QrCode][] => {
      const code = qrCodeOf(lpa);
      return code === null ? [] : [[lpa, code]];
    }),
  );
  return renderOrder(templates, { orderId: '1001', lines: full }, qrCodes);
}

export const lpa = 'LPA:1$smdp.example.com$K2-ABCDE-1FGHIJ';
export const fullCard: Unit = {
  code: 'DXTY-7WQ3-7YFZ-YHK2',
  pin: '4711',
  serial: 'SN-000123456789',
  url: 'https://redeem.example.com/?gift=1&land=de',
  expires_at: '2027-12-31',
};
export const fullEsim: Unit = {
  iccid: '8999901000000000013',
  lpa,
  smdp_address: 'smdp.example.com',
  matching_id: 'K2-ABCDE-1FGHIJ',
  confirmation_code: '998877',
  expires_at: '2027-06-30',
};

type Node = DefaultTreeAdapterTypes.ChildNode;

export interface PageElement {
  readonly tag: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** All text within it, as a reader sees it. */
  readonly text: string;
}

function contentOf(node: Node): string {
  if (defaultTreeAdapter.isTextNode(node)) return node.value;
  return defaultTreeAdapter.isElementNode(node) ? node.childNodes.map(contentOf).join('') : '';
}

/** Every element of a page, as a browser reads it, in its order. A comment counts as an element. */
export function elementsOf(html: string): readonly PageElement[] {
  const elements: PageElement[] = [];
  const visit = (node: Node): void => {
    if (defaultTreeAdapter.isTextNode(node)) return;
    if (!defaultTreeAdapter.isElementNode(node)) return void elements.push({ tag: '#other', attributes: {}, text: '' });
    const attributes = Object.fromEntries(node.attrs.map(({ name, value }) => [name, value]));
    elements.push({ tag: node.tagName, attributes, text: contentOf(node) });
    for (const child of node.childNodes) visit(child);
  };
  for (const node of parseFragment(html).childNodes) visit(node);
  return elements;
}

/** What the values of an order look like in a page. */
export const shownValues = (html: string): readonly string[] =>
  elementsOf(html)
    .filter(({ tag, attributes }) => tag === 'bdi' && attributes['dir'] === 'ltr')
    .map(({ text }) => text);
