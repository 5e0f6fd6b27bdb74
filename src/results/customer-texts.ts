import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type DeliveredLine, deliveredLines, type OrderedEntries } from '../core/result/delivered-lines.ts';
import type { ResultDocument, ResultUnit } from '../core/result/result-document.ts';
import type { CustomerSettings } from './settings.ts';
import { type QrCode, qrCodeOf, type QrCodes, renderOrder } from './customer/render-order.ts';
import { readTemplates } from './customer/read-templates.ts';

/** A result with more units has neither text nor QR codes: nobody reads so many, and to make them would delay calls. */
const mostUnits = 500;

/** Adds to a result what the customer of its order reads. Never rejects: a result without it is worth more than none. */
export type CustomerTexts = (document: ResultDocument, ordered: OrderedEntries) => Promise<ResultDocument>;

/** @throws OrderSyncError CONFIG_INVALID when a template cannot be used */
export function customerTexts({ qr, templates: folder }: CustomerSettings, logger: Logger): CustomerTexts {
  const templates = readTemplates(folder);
  return async (document, ordered) => {
    try {
      const units = document.lines.flatMap((line) => line.entries.flatMap((entry) => entry.units));
      if (units.length > mostUnits) return { ...document, customer: null };
      const lines = deliveredLines(document, ordered);
      const qrCodes = await qrCodesOf(units);
      const order = { orderId: document.order_id, lines };
      return {
        ...(qr.length > 0 ? withQrCodes(document, qrCodes, qr) : document),
        customer: lines.some(hasNews) ? renderOrder(templates, order, qrCodes) : null,
      };
    } catch (error) {
      // Not its message, which may repeat a value, and codes are as good as money.
      const kind = error instanceof Error ? error.name : typeof error;
      const { source, order_id } = document;
      logger.error({ source, order_id, kind }, 'the text for the customer could not be written: the result has none');
      return document;
    }
  };
}

/** Whether there is something that the customer can use, or is to wait for by hand. */
const hasNews = ({ giftCards, esims, toppedUp, byHand }: DeliveredLine): boolean =>
  giftCards.length + esims.length + toppedUp.length + byHand > 0;

/** The QR codes of an order. Each takes a millisecond or two, so calls to the API come between them. */
async function qrCodesOf(units: readonly ResultUnit[]): Promise<QrCodes> {
  const found = new Map<string, QrCode>();
  for (const { lpa } of units) {
    if (lpa === undefined || found.has(lpa)) continue;
    const code = qrCodeOf(lpa);
    if (code !== null) found.set(lpa, code);
    await setImmediate();
  }
  return found;
}

function withQrCodes(document: ResultDocument, qrCodes: QrCodes, forms: CustomerSettings['qr']): ResultDocument {
  const withCode = (unit: ResultUnit): ResultUnit => {
    const code = unit.lpa === undefined ? undefined : qrCodes.get(unit.lpa);
    if (code === undefined) return unit;
    return { ...unit, ...Object.fromEntries(forms.map((form) => [`qr_${form}`, code[form]])) };
  };
  const lines = document.lines.map((line) => ({
    ...line,
    entries: line.entries.map((entry) => ({ ...entry, units: entry.units.map(withCode) })),
  }));
  return { ...document, lines };
}
