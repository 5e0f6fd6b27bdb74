import { correction, generate, type Bitmap2D } from 'lean-qr';
import { toPngDataURL } from 'lean-qr/extras/node_export';
import { toSvgSource } from 'lean-qr/extras/svg';
import mustache from 'mustache';
import type { Unit } from '../../core/answers/order-answer.ts';
import { type DeliveredLine, isComplete } from '../../core/result/delivered-lines.ts';
import type { CustomerText } from '../../core/result/result-document.ts';
import type { kinds, Templates, TextFormat } from './template-variables.ts';

/** SGP.22 4.1: the longest activation code that a phone must accept. */
const longestActivationCode = 255;
/** Pixels of one square of the code: large enough for a camera that reads it from a screen. */
const pixelsPerSquare = 6;

/** A QR code as pictures, black on white with the white margin that a camera needs, whatever is around it. */
export interface QrCode {
  /** A `data:` address, for mail. */
  readonly png: string;
  /** The source of the picture, for pages. */
  readonly svg: string;
}

/** The QR code whose content is exactly this activation code; null for one that no phone accepts. */
export function qrCodeOf(activationCode: string): QrCode | null {
  if (activationCode.length > longestActivationCode) return null;
  const code: Bitmap2D = generate(activationCode, { minCorrectionLevel: correction.M });
  return {
    png: toPngDataURL(code, { on: [0, 0, 0], off: [255, 255, 255], scale: pixelsPerSquare }),
    svg: toSvgSource(code, { on: '#000', off: '#fff', scale: pixelsPerSquare }),
  };
}

/** The facts of one order that its text shows. It has the units of this order only. */
type DeliveredOrder = { readonly orderId: string; readonly lines: readonly DeliveredLine[] };

export type QrCodes = ReadonlyMap<string, QrCode>;

/**
 * Writes what the customer of one order reads. Pure.
 * @throws Error for a value that no page can show unaltered. Its message has no value in it
 */
export function renderOrder(templates: Templates, order: DeliveredOrder, qrCodes: QrCodes): CustomerText {
  const render = (format: TextFormat): string => {
    const template = (name: keyof typeof kinds): string => templates.get(`${name}.${format}`) ?? '';
    const view = orderView(order, qrCodes, writers[format]);
    const included = { gift_card: template('gift_card'), esim: template('esim') };
    return mustache.render(template('order'), view, included, { escape: String });
  };
  return { text: render('txt'), html: render('html') };
}

type Write = (text: string | null | undefined) => string;
/** How values are written into a text. An absent one is an empty text: its name is not looked up in the section around. */
type Writer = { readonly value: Write; readonly address: Write };

const writers: Readonly<Record<TextFormat, Writer>> = {
  txt: { value: (text) => text ?? '', address: (address) => address ?? '' },
  html: {
    // The text between the tags is the value, character by character, also where the text around it runs from right to left.
    value: (text) => (text === undefined || text === null ? '' : `<bdi dir="ltr">${escapeHtml(text)}</bdi>`),
    address: (address) => escapeHtml(address ?? ''),
  },
};

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  // A page reads a bare carriage return as a line feed.
  '\r': '&#13;',
};

function escapeHtml(text: string): string {
  if (text.includes('\0') || !text.isWellFormed()) throw new Error('a value has a character that a page cannot show');
  return text.replaceAll(/[&<>"'\r]/g, (character) => escapes[character] ?? '');
}

const counted = (count: number | null): string => String(count === 0 ? '' : (count ?? ''));

function orderView({ orderId, lines }: DeliveredOrder, qrCodes: QrCodes, write: Writer) {
  return {
    order_id: write.value(orderId),
    complete: lines.every(isComplete),
    several_lines: lines.length > 1,
    lines: lines.map((line) => ({
      line_id: write.value(line.line_id),
      product: write.value(line.product),
      gift_cards: line.giftCards.map((unit) => giftCardView(unit, write)),
      esims: line.esims.map((unit) => esimView(unit, qrCodes, write)),
      top_ups: line.toppedUp.map((iccid) => ({ iccid: write.value(iccid) })),
      later: counted(line.later),
      by_hand: counted(line.byHand),
      not_delivered: line.notDelivered !== 0,
      not_delivered_count: counted(line.notDelivered),
    })),
  };
}

function giftCardView(unit: Unit, write: Writer) {
  const picture = inlinePicture(unit.url);
  return {
    code: write.value(unit.code),
    pin: write.value(unit.pin),
    serial: write.value(unit.serial),
    expires_at: write.value(unit.expires_at),
    url: write.value(picture === null ? unit.url : null),
    url_link: write.address(secureLink(unit.url)),
    picture: picture ?? '',
  };
}

function esimView(unit: Unit, qrCodes: QrCodes, write: Writer) {
  const { lpa } = unit;
  const installs = (phone: 'apple' | 'android'): string | null => (lpa === undefined ? null : installLink(phone, lpa));
  const qrPicture = lpa === undefined ? inlinePicture(unit.qr_url) : (qrCodes.get(lpa)?.png ?? null);
  const qrLink = lpa === undefined ? secureLink(unit.qr_url) : null;
  const appleLink = secureLink(unit.apple_install_url) ?? installs('apple');
  return {
    iccid: write.value(unit.iccid),
    lpa: write.value(lpa),
    not_installable: [lpa ?? null, qrPicture, qrLink, appleLink].every((found) => found === null),
    smdp_address: write.value(unit.smdp_address),
    matching_id: write.value(unit.matching_id),
    confirmation_code: write.value(unit.confirmation_code),
    expires_at: write.value(unit.expires_at),
    qr_png: qrPicture ?? '',
    qr_link: write.address(qrLink),
    apple_link: write.address(appleLink),
    android_link: write.address(installs('android')),
  };
}

/** The address at which a phone installs an eSIM; null for a text that is no activation code. See docs/customer-texts.md. */
function installLink(phone: 'apple' | 'android', activationCode: string): string | null {
  if (!/^LPA:1\$[^$\s]+\$\S*$/i.test(activationCode)) return null;
  // In the form in use, with `:` and `$` as they are. Characters that have a meaning in an address are encoded.
  const data = encodeURIComponent(activationCode).replaceAll('%3A', ':').replaceAll('%24', '$');
  return `https://esimsetup.${phone}.com/esim_qrcode_provisioning?carddata=${data}`;
}

/** An address that may be a link: https, without user and password. Null for any other, which is shown as text. */
function secureLink(address: string | undefined): string | null {
  if (address === undefined || !URL.canParse(address)) return null;
  const url = new URL(address);
  return url.protocol === 'https:' && url.username === '' && url.password === '' ? url.href : null;
}

/** A picture that the API delivered within its address. An SVG is not among them: it could load others. */
function inlinePicture(address: string | undefined): string | null {
  const isPicture = /^data:image\/(png|jpeg|gif);base64,[A-Za-z0-9+/]+={0,2}$/i;
  return address !== undefined && isPicture.test(address) ? address : null;
}
