/** The files of a text. `order` is the frame; the others are one unit within it. */
export const templateFiles = [
  'order.txt',
  'order.html',
  'gift_card.txt',
  'gift_card.html',
  'esim.txt',
  'esim.html',
] as const;
export type TemplateFile = (typeof templateFiles)[number];
export type TextFormat = 'txt' | 'html';
/** The checked templates, of every file. */
export type Templates = ReadonlyMap<TemplateFile, string>;

export const formatOf = (file: TemplateFile): TextFormat => (file.endsWith('.html') ? 'html' : 'txt');

/**
 * How a variable may be used. Each may also be a condition, `{{#name}}…{{/name}}` or `{{^name}}…{{/name}}`.
 *   value      shown
 *   count      shown, a number
 *   link       in HTML the whole value of `href`; in text shown like a value
 *   picture    in HTML the whole value of `src`; in text only a condition
 *   condition  never shown
 *   list       a section that is repeated for each element
 */
type VariableUse = 'value' | 'count' | 'link' | 'picture' | 'condition' | 'list';

type Scope = Readonly<Record<string, readonly [use: VariableUse, means: string]>>;
export type ScopeName = 'order' | 'lines' | 'gift_cards' | 'esims' | 'top_ups';

/** Every variable of the templates, by the section in which it is known. docs/customer-texts.md lists them. */
export const scopes: Readonly<Record<ScopeName, Scope>> = {
  order: {
    order_id: ['value', 'the order id of the shop'],
    complete: ['condition', 'everything that was ordered is there'],
    several_lines: ['condition', 'the order has more than one line'],
    lines: ['list', 'the lines'],
  },
  lines: {
    line_id: ['value', 'the id of the line'],
    product: ['value', 'the variant or plan that was ordered'],
    later: ['count', 'how many units are still to come'],
    by_hand: ['count', 'how many units a person of the shop will send'],
    not_delivered: ['condition', 'some units will not come'],
    not_delivered_count: ['count', 'how many these are; empty where that is not known'],
    gift_cards: ['list', 'the gift cards'],
    esims: ['list', 'the eSIMs'],
    top_ups: ['list', 'the eSIMs that were topped up'],
  },
  gift_cards: {
    code: ['value', 'the code'],
    pin: ['value', 'the PIN'],
    serial: ['value', 'the serial number'],
    expires_at: ['value', 'when it expires, as the supplier wrote it'],
    url: ['value', 'the address at which it is redeemed'],
    url_link: ['link', 'that address, if it is https'],
    picture: ['picture', 'the code, where the supplier delivers it as a picture'],
  },
  esims: {
    iccid: ['value', 'the ICCID, the number of the eSIM'],
    lpa: ['value', 'the activation code, `LPA:1$…`'],
    not_installable: ['condition', 'nothing of it installs the eSIM: no activation code, no QR code'],
    smdp_address: ['value', 'the SM-DP+ address, to enter it by hand'],
    matching_id: ['value', 'the second part of the activation code, to enter it by hand'],
    confirmation_code: ['value', 'the confirmation code, for which the phone asks'],
    expires_at: ['value', 'when it expires, as the supplier wrote it'],
    qr_png: ['picture', 'the QR code'],
    qr_link: ['link', 'an https address of the QR code, where there is no activation code'],
    apple_link: ['link', 'installs it on an iPhone'],
    android_link: ['link', 'installs it on an Android phone'],
  },
  top_ups: { iccid: ['value', 'the ICCID of the eSIM that was topped up'] },
};

/** The sections around a file, and its required variables: a customer who never sees one of these paid for nothing. */
export const kinds = {
  order: {
    scopes: ['order'],
    needs: ['> gift_card', '> esim', 'top_ups', 'later', 'by_hand', 'not_delivered'],
  },
  gift_card: { scopes: ['order', 'lines', 'gift_cards'], needs: ['code', 'pin', 'url'] },
  esim: { scopes: ['order', 'lines', 'esims'], needs: ['iccid', 'lpa', 'confirmation_code'] },
} as const satisfies Record<string, { scopes: readonly ScopeName[]; needs: readonly string[] }>;

export const kindOf = (file: TemplateFile): keyof typeof kinds =>
  file.startsWith('order') ? 'order' : file.startsWith('esim') ? 'esim' : 'gift_card';
