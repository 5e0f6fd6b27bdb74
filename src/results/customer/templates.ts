import mustache from 'mustache';
import type { CustomerText } from '../../core/result/result-document.ts';
import { isRightToLeft } from './language.ts';
import { orderView, type DeliveredOrder, type QrCodes } from './order-view.ts';
import { writeIntoHtml, writeIntoText } from './shown-value.ts';
import type { TemplateFile, TextFormat } from './template-variables.ts';

/** The checked templates of one language. */
export type LanguageTemplates = Readonly<Record<TemplateFile, string>>;

/** The templates of each language, by its tag in small letters. */
export type Templates = ReadonlyMap<string, LanguageTemplates>;

/** Writes what the customer of one order reads. Pure. */
export function renderOrder(
  language: string,
  templates: LanguageTemplates,
  order: DeliveredOrder,
  qrCodes: QrCodes,
): CustomerText {
  const render = (format: TextFormat, escape: (value: unknown) => string): string =>
    mustache.render(
      templates[`order.${format}`],
      orderView(order, qrCodes, format),
      { gift_card: templates[`gift_card.${format}`], esim: templates[`esim.${format}`] },
      { escape },
    );
  return {
    language,
    text: render('txt', writeIntoText(isRightToLeft(language))),
    html: render('html', writeIntoHtml),
  };
}
