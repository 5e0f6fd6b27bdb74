import type { ResultDocument } from '../../core/result/result-document.ts';

/** The fields of `metadata` in which a shop says the language of its customer, the first one first. */
const languageFields = ['language', 'locale'] as const;

/**
 * The language of an order: that of its metadata if it is one of these, else the default. `de-AT` and `de_AT` find `de` where
 * there is no `de-AT`.
 */
export function languageOf(
  metadata: ResultDocument['metadata'],
  languages: ReadonlySet<string>,
  defaultLanguage: string,
): string {
  for (const field of languageFields) {
    const said = metadata[field];
    if (typeof said !== 'string' || said.length > 35) continue;
    const parts = said.trim().replaceAll('_', '-').toLowerCase().split('-');
    for (let count = parts.length; count > 0; count -= 1) {
      const language = parts.slice(0, count).join('-');
      if (languages.has(language)) return language;
    }
  }
  return defaultLanguage;
}

/** Whether this is the tag of a language, for example `de` or `zh-TW`, whether or not there is such a language. */
export function isLanguageTag(text: string): boolean {
  try {
    return /^[a-z]{2,3}(-|$)/i.test(text) && new Intl.Locale(text).language !== '';
  } catch {
    return false;
  }
}

/** Whether a language is written from right to left, as Unicode's data on languages say. */
export function isRightToLeft(language: string): boolean {
  const locale: object = new Intl.Locale(language);
  if (!('getTextInfo' in locale) || typeof locale.getTextInfo !== 'function') return false;
  const info: unknown = locale.getTextInfo();
  return typeof info === 'object' && info !== null && 'direction' in info && info.direction === 'rtl';
}
