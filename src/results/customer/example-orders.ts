import type { Unit } from '../../core/decision/order-answer.ts';
import type { DeliveredLine } from '../../core/result/delivered-lines.ts';
import { renderOrder, type LanguageTemplates } from './templates.ts';
import type { TemplateFile, TextFormat } from './template-variables.ts';

/** What a template does not show although a customer needs it. */
export interface HiddenValue {
  readonly file: TemplateFile;
  readonly problem: string;
}

/** A line that shows one thing, and the text in which it has to be. */
interface Example {
  readonly file: 'order' | 'gift_card' | 'esim';
  /** The variable, and what it is shown for. */
  readonly name: string;
  readonly of: string;
  readonly line: Partial<DeliveredLine>;
  readonly shows: string;
  /** Absent: both. */
  readonly format?: TextFormat;
}

const empty: DeliveredLine = {
  line_id: '1',
  product: 'example',
  giftCards: [],
  esims: [],
  toppedUp: [],
  later: 0,
  byHand: 0,
  notDelivered: 0,
};
/** Beside it, an order has several lines and is not complete. */
const other: DeliveredLine = { ...empty, line_id: '2', later: 1 };

// None of these addresses and codes becomes a link, so only the value itself shows them.
const fullCard = {
  code: 'EXAMPLE-CODE',
  pin: 'EXAMPLE-PIN',
  url: 'http://shop.example/redeem',
  serial: 'EXAMPLE-SERIAL',
  expires_at: '2030-01-01',
} satisfies Unit;
const fullEsim = {
  iccid: '8999900000000000017',
  lpa: 'EXAMPLE-LPA',
  confirmation_code: 'EXAMPLE-CONFIRMATION',
  smdp_address: 'smdp.example',
  matching_id: 'EXAMPLE-ID',
  expires_at: '2030-01-01',
} satisfies Unit;
const picture = 'data:image/png;base64,RVhBTVBMRQ==';
const secure = 'https://shop.example/secure';
const toppedUp = '8999900000000000025';

const card = (name: string, unit: Unit, of: string, shows: string): Example => {
  return { file: 'gift_card', name, of: `a gift card with ${of}`, line: { giftCards: [unit] }, shows };
};
const esim = (name: string, unit: Unit, of: string, shows: string): Example => {
  return { file: 'esim', name, of: `an eSIM with ${of}`, line: { esims: [unit] }, shows };
};
const missing = (name: string, line: Partial<DeliveredLine>, of: string, shows: string): Example => {
  return { file: 'order', name, of: `a line with ${of}`, line, shows };
};

/** A customer who does not get to see one of these has paid for nothing. */
const examples: readonly Example[] = [
  ...(['code', 'pin', 'url'] as const).flatMap((name) => [
    card(name, { [name]: fullCard[name] }, 'nothing else', fullCard[name]),
    card(name, fullCard, 'every field', fullCard[name]),
  ]),
  card('url', { url: secure }, 'only an https address', secure),
  { ...card('picture', { url: picture }, 'only a picture', picture), format: 'html' },
  ...(['iccid', 'lpa'] as const).flatMap((name) => [
    esim(name, { [name]: fullEsim[name] }, 'nothing else', fullEsim[name]),
    esim(name, fullEsim, 'every field', fullEsim[name]),
  ]),
  esim('confirmation_code', fullEsim, 'every field', fullEsim.confirmation_code),
  missing('later', { later: 4711 }, 'units to come', '4711'),
  missing('by_hand', { byHand: 4712 }, 'units by hand', '4712'),
  missing('not_delivered_count', { notDelivered: 4713 }, 'units that will not come', '4713'),
  missing('top_ups', { toppedUp: [toppedUp] }, 'a top-up', toppedUp),
];

/** Shows every unit. What it does not show is the mistake of the file of the unit. */
const plainFrame = '{{#lines}}{{#gift_cards}}{{> gift_card}}{{/gift_cards}}{{#esims}}{{> esim}}{{/esims}}{{/lines}}';

/** Renders the example orders, each also with another line, and says what the templates of this language do not show. */
export function hiddenValues(language: string, templates: LanguageTemplates): readonly HiddenValue[] {
  const inPlainFrame = { ...templates, 'order.txt': plainFrame, 'order.html': plainFrame };
  return examples.flatMap((example) => {
    const line = { ...empty, ...example.line };
    const isShown = (format: TextFormat, given: LanguageTemplates): boolean =>
      [[line], [other, line]].every((lines) => {
        const { html, text } = renderOrder(language, given, { orderId: 'example', lines }, new Map());
        return (format === 'html' ? html : text).includes(example.shows);
      });
    return (['txt', 'html'] as const).flatMap((format) => {
      if (example.format !== undefined && example.format !== format) return [];
      if (isShown(format, templates)) return [];
      const file = `${isShown(format, inPlainFrame) ? 'order' : example.file}.${format}` as const;
      return [{ file, problem: `does not show {{${example.name}}} of ${example.of}` }];
    });
  });
}
