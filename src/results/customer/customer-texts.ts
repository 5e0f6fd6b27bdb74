import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import { deliveredLines, type DeliveredLine } from '../../core/result/delivered-lines.ts';
import type { OrderedEntries } from '../../core/result/ordered-entry.ts';
import type { ResultDocument, ResultUnit } from '../../core/result/result-document.ts';
import type { CustomerSettings } from '../settings.ts';
import { languageOf } from './language.ts';
import { qrCodeOf, type QrCode } from './qr-code.ts';
import { readTemplates } from './read-templates.ts';
import { renderOrder, type Templates } from './templates.ts';

/** A result with more units has neither text nor QR codes: nobody reads so many, and to make them would delay calls. */
const mostUnits = 500;

/** Adds to a result what the customer of its order reads, as `results.customer` asks for it. */
export class CustomerTexts {
  readonly #settings: CustomerSettings;
  readonly #templates: Templates;
  readonly #languages: ReadonlySet<string>;
  readonly #logger: Logger;

  /** @throws OrderSyncError CONFIG_INVALID when a template cannot be used */
  constructor(settings: CustomerSettings, logger: Logger) {
    this.#settings = settings;
    this.#templates = readTemplates(settings);
    this.#languages = new Set(this.#templates.keys());
    this.#logger = logger;
  }

  /** The result with its texts. Never rejects: a result without them is worth more than none. */
  async addTo(document: ResultDocument, ordered: OrderedEntries): Promise<ResultDocument> {
    try {
      return await this.#withTexts(document, ordered);
    } catch (error) {
      const subject = { source: document.source, order_id: document.order_id };
      const advice = 'the text for the customer could not be written: the result has none';
      this.#logger.error({ ...subject, ...placeOf(error) }, advice);
      return document;
    }
  }

  async #withTexts(document: ResultDocument, ordered: OrderedEntries): Promise<ResultDocument> {
    const { language: defaultLanguage, qrPng, qrSvg } = this.#settings;
    const units = unitsOf(document);
    if (units.length > mostUnits) return { ...document, customer: null };
    const lines = deliveredLines(document, ordered);
    const qrCodes = await qrCodesOf(units);
    const language = languageOf(document.metadata, this.#languages, defaultLanguage.toLowerCase());
    const templates = this.#templates.get(language);
    const order = { orderId: document.order_id, lines };
    const isWritten = hasNews(lines) && templates !== undefined;
    return {
      ...(qrPng || qrSvg ? withQrCodes(document, qrCodes, { qrPng, qrSvg }) : document),
      customer: isWritten ? renderOrder(language, templates, order, qrCodes) : null,
    };
  }
}

/** Where it was thrown. Not its message, which may repeat a value, and codes are as good as money. */
function placeOf(error: unknown): { readonly kind: string; readonly at: string | null } {
  if (!(error instanceof Error)) return { kind: typeof error, at: null };
  const { name, message, stack = '' } = error;
  const headline = `${name}: ${message}`;
  const [, first] = stack.startsWith(headline) ? stack.slice(headline.length).split('\n') : [];
  return { kind: name, at: first?.trim() ?? null };
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
  { qrPng, qrSvg }: Pick<CustomerSettings, 'qrPng' | 'qrSvg'>,
): ResultDocument {
  const withCode = (unit: ResultUnit): ResultUnit => {
    const code = unit.lpa === undefined ? undefined : qrCodes.get(unit.lpa);
    if (code === undefined) return unit;
    return { ...unit, ...(qrPng ? { qr_png: code.png } : {}), ...(qrSvg ? { qr_svg: code.svg } : {}) };
  };
  const lines = document.lines.map((line) => ({
    ...line,
    entries: line.entries.map((entry) => ({ ...entry, units: entry.units.map(withCode) })),
  }));
  return { ...document, lines };
}
