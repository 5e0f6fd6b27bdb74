/** The files of a language. `order` is the frame; the others are one unit within it. */
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

/**
 * How a variable may be used. Each may also be a condition, `{{#name}}…{{/name}}` or `{{^name}}…{{/name}}`.
 *   value      shown; it is kept apart from the text around it, which may run from right to left
 *   count      shown, a number
 *   link       in HTML the whole value of `href`; in text shown like a value
 *   picture    in HTML the whole value of `src`; in text only a condition
 *   condition  never shown
 */
export type VariableUse = 'value' | 'count' | 'link' | 'picture' | 'condition';

interface Variable {
  readonly use: VariableUse;
  readonly means: string;
}

interface Scope {
  readonly variables: Readonly<Record<string, Variable>>;
  /** Sections that are repeated for each element, with the scope in them. */
  readonly lists: Readonly<Record<string, ScopeName>>;
}

export type ScopeName = 'order' | 'line' | 'gift_card' | 'esim' | 'top_up';

const value = (means: string): Variable => ({ use: 'value', means });
const link = (means: string): Variable => ({ use: 'link', means });
const picture = (means: string): Variable => ({ use: 'picture', means });
const condition = (means: string): Variable => ({ use: 'condition', means });
const count = (means: string): Variable => ({ use: 'count', means });

/** Every variable of the templates, by the section in which it is known. docs/customer-texts.md lists them. */
export const scopes: Readonly<Record<ScopeName, Scope>> = {
  order: {
    variables: {
      order_id: value('the order id of the shop'),
      complete: condition('everything that was ordered is there'),
      several_lines: condition('the order has more than one line'),
    },
    lists: { lines: 'line' },
  },
  line: {
    variables: {
      line_id: value('the id of the line'),
      product: value('the variant or plan that was ordered'),
      later: count('how many units are still to come'),
      by_hand: count('how many units a person of the shop will send'),
      not_delivered: condition('some units will not come'),
      not_delivered_count: count('how many these are; empty where that is not known'),
    },
    lists: { gift_cards: 'gift_card', esims: 'esim', top_ups: 'top_up' },
  },
  gift_card: {
    variables: {
      code: value('the code'),
      pin: value('the PIN'),
      serial: value('the serial number'),
      expires_at: value('when it expires, as the supplier wrote it'),
      url: value('the address at which it is redeemed'),
      url_link: link('that address, if it is https'),
      picture: picture('the code, where the supplier delivers it as a picture'),
    },
    lists: {},
  },
  esim: {
    variables: {
      iccid: value('the ICCID, the number of the eSIM'),
      lpa: value('the activation code, `LPA:1$…`'),
      not_installable: condition('nothing of it installs the eSIM: no activation code, no QR code'),
      smdp_address: value('the SM-DP+ address, to enter it by hand'),
      matching_id: value('the second part of the activation code, to enter it by hand'),
      confirmation_code: value('the confirmation code, for which the phone asks'),
      expires_at: value('when it expires, as the supplier wrote it'),
      qr_png: picture('the QR code'),
      qr_link: link('an https address of the QR code, where there is no activation code'),
      apple_link: link('installs it on an iPhone'),
      android_link: link('installs it on an Android phone'),
    },
    lists: {},
  },
  top_up: {
    variables: { iccid: value('the ICCID of the eSIM that was topped up') },
    lists: {},
  },
};

/** The files of units that a section may include, `{{> esim}}`, by its scope. */
export const unitFiles: Readonly<Partial<Record<ScopeName, string>>> = { gift_card: 'gift_card', esim: 'esim' };

/** The sections around the text of a file. */
export const scopesOf = (file: TemplateFile): readonly ScopeName[] => {
  if (file.startsWith('gift_card')) return ['order', 'line', 'gift_card'];
  return file.startsWith('esim') ? ['order', 'line', 'esim'] : ['order'];
};

export const formatOf = (file: TemplateFile): TextFormat => (file.endsWith('.html') ? 'html' : 'txt');
