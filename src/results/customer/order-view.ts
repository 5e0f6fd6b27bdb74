import type { Unit } from '../../core/decision/order-answer.ts';
import type { DeliveredLine } from '../../core/result/delivered-lines.ts';
import type { QrCode } from './qr-code.ts';
import { ShownValue } from './shown-value.ts';
import type { TextFormat } from './template-variables.ts';
import { inlinePicture, installLink, secureLink } from './unit-links.ts';

/** What is said of one order. It has the units of this order only. */
export interface DeliveredOrder {
  readonly orderId: string;
  readonly lines: readonly DeliveredLine[];
}

/** The QR code of each activation code. */
export type QrCodes = ReadonlyMap<string, QrCode>;

/** A value of a template; empty text where there is none, so that a name is never looked up in the section around it. */
type Shown = ShownValue | '';
const shown = (text: string | null | undefined): Shown =>
  text === undefined || text === null ? '' : new ShownValue(text);
const counted = (count: number): string => (count > 0 ? String(count) : '');

/** The variables of the templates for one order; `template-variables.ts` says what they mean. */
export function orderView({ orderId, lines }: DeliveredOrder, qrCodes: QrCodes, format: TextFormat) {
  // In a page a link is an attribute; in a text it is read.
  const link: Link = (address) => (format === 'html' ? (address ?? '') : shown(address));
  return {
    order_id: shown(orderId),
    complete: lines.every((line) => line.later === 0 && line.byHand === 0 && line.notDelivered === 0),
    several_lines: lines.length > 1,
    lines: lines.map((line) => ({
      line_id: shown(line.line_id),
      product: shown(line.product),
      gift_cards: line.giftCards.map((unit) => giftCardView(unit, link)),
      esims: line.esims.map((unit) => esimView(unit, qrCodes, link)),
      top_ups: line.toppedUp.map((iccid) => ({ iccid: shown(iccid) })),
      later: counted(line.later),
      by_hand: counted(line.byHand),
      not_delivered: line.notDelivered !== 0,
      not_delivered_count: counted(line.notDelivered ?? 0),
    })),
  };
}

type Link = (address: string | null) => ShownValue | string;

function giftCardView(unit: Unit, link: Link) {
  const picture = inlinePicture(unit.url);
  return {
    code: shown(unit.code),
    pin: shown(unit.pin),
    serial: shown(unit.serial),
    expires_at: shown(unit.expires_at),
    url: shown(picture === null ? unit.url : null),
    url_link: link(secureLink(unit.url)),
    picture: picture ?? '',
  };
}

function esimView(unit: Unit, qrCodes: QrCodes, link: Link) {
  const { lpa } = unit;
  const installs = (phone: 'apple' | 'android'): string | null => (lpa === undefined ? null : installLink(phone, lpa));
  const qrPicture = lpa === undefined ? inlinePicture(unit.qr_url) : (qrCodes.get(lpa)?.png ?? null);
  const qrLink = lpa === undefined ? secureLink(unit.qr_url) : null;
  const appleLink = secureLink(unit.apple_install_url) ?? installs('apple');
  return {
    iccid: shown(unit.iccid),
    lpa: shown(lpa),
    not_installable: [lpa ?? null, qrPicture, qrLink, appleLink].every((found) => found === null),
    smdp_address: shown(unit.smdp_address),
    matching_id: shown(unit.matching_id),
    confirmation_code: shown(unit.confirmation_code),
    expires_at: shown(unit.expires_at),
    qr_png: qrPicture ?? '',
    qr_link: link(qrLink),
    apple_link: link(appleLink),
    android_link: link(installs('android')),
  };
}
