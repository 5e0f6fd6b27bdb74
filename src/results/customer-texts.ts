import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type DeliveredLine, deliveredLines, type OrderedEntries } from '../core/result/delivered-lines.ts';
import type { ResultDocument, ResultUnit } from '../core/result/result-document.ts';
import type { CustomerSettings } from './settings.ts';
import { type QrCode, qrCodeOf, renderOrder } from './customer/render-order.ts';
import { readTemplates } from './customer/read-templates.ts';
import type { Templates } from './customer/template-variables.ts';

/** A result with more units has neither text nor QR codes: nobody reads so many, and to make them would delay calls. */
const mostUnits = 500;

/** Adds to a result what the customer of its order reads, as `results.customer` asks for it. */
export class CustomerTexts {
  readonly #settings: CustomerSettings;
  readonly #templates: Templates;
  readonly #logger: Logger;

  /** @throws OrderSyncError CONFIG_INVALID when a template cannot be used */
  constructor(settings: CustomerSettings, logger: Logger) {
    this.#settings = settings;
    this.#templates = readTemplates(settings.templates);
    this.#logger = logger;
  }

  /** The result with its texts. Never rejects: a result without them is worth more than none. */
  async addTo(document: ResultDocument, ordered: OrderedEntries): Promise<ResultDocument> {
    try {
      return await this.#withTexts(document, ordered);
    } catch (error) {
      // Not its message, which may repeat a value, and codes are as good as money.
      const kind = error instanceof Error ? error.name : typeof error;
      const { source, order_id } = document;
      const problem = 'the text for the customer could not be written: the result has none';
      this.#logger.error({ source, order_id, kind }, problem);
      return document;
    }
  }

  async #withTexts(document: ResultDocument, ordered: OrderedEntries): Promise<ResultDocument> {
    const { qr } = this.#settings;
    const units = unitsOf(document);
    if (units.length > mostUnits) return { ...document, customer: null };
    const lines = deliveredLines(document, ordered);
    const qrCodes = await qrCodesOf(units);
    const order = { orderId: document.order_id, lines };
    return {
      ...(qr.length > 0 ? withQrCodes(document, qrCodes, qr) : document),
      customer: hasNews(lines) ? renderOrder(this.#templates, order, qrCodes) : null,
    };
  }
}

/** Whether there is something that the customer can use, or is to wait for by hand. */
function hasNews(lines: readonly DeliveredLine[]): boolean {
  return lines.some(
    (line) => [line.giftCards, line.esims, line.toppedUp].some(({ length }) => length > 0) || line.byHand > 0,
  );
}

const unitsOf = ({ lines }: ResultDocument): readonly ResultUnit[] =>
  lines.flatMap((line) => line.entries.flatMap((entry) => entry.units));

/** The QR codes of an order. Each takes a millisecond or two, so calls to the API come between them. */
async function qrCodesOf(units: readonly ResultUnit[]): Promise<ReadonlyMap<string, QrCode>> {
  const found = new Map<string, QrCode>();
  for (const { lpa } of units) {
    if (lpa === undefined || found.has(lpa)) continue;
    const code = qrCodeOf(lpa);
    if (code !== null) found.set(lpa, code);
    await setImmediate();
  }
  return found;
}

function withQrCodes(
  document: ResultDocument,
  qrCodes: ReadonlyMap<string, QrCode>,
  forms: CustomerSettings['qr'],
): ResultDocument {
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
