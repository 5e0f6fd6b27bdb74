import { messageText } from '../../core/message-text.ts';
import { codeOf } from '../../core/order-sync-error.ts';

const notice =
  /^(<br ?\/?>\s*)?(<b>)?(PHP )?(Notice|Warning|Deprecated|Strict Standards|(Fatal|Parse) error)(<\/b>)?:/i;

/**
 * Describes an answer that is not the API's. Of JSON, which may be a part of an order, it shows
 * nothing.
 */
export function whatItIs(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes.subarray(0, 65_536)).trimStart();
  if (text === '') return 'an empty answer';
  if (/^[[{]/.test(text)) return 'not complete JSON in UTF-8, or of an unknown form';
  const begins = `what begins with "${messageText(text.replaceAll(/<[^>]*>/g, ' ').trim() || text, 60)}"`;
  if (notice.test(text)) return `${begins}, a PHP notice: switch off display_errors`;
  const title = messageText(/<title[^>]*>([^<]*)/i.exec(text)?.[1] ?? '', 100);
  return title === ''
    ? begins
    : `the page "${title}" of a firewall, a login, a proxy or maintenance`;
}

const certificateAdvice: readonly (readonly [RegExp, string])[] = [
  [/SELF_SIGNED|UNABLE_TO_/, 'if the certificate is from a private authority, set `rest.ca_file`'],
  [/HAS_EXPIRED/, "renew the shop's certificate"],
  [/ALTNAME/, 'set rest.url to a name that the certificate has'],
];

/** Why there is no answer, by the error of the connection. */
export function whyUnreachable(error: unknown): string {
  if (!(error instanceof Error)) return 'no answer';
  const code = codeOf(error);
  const advice = certificateAdvice.find(([codes]) => codes.test(code ?? ''));
  const message = code === null ? error.message : `${code}: ${error.message}`;
  return messageText([message, ...(advice?.slice(1) ?? [])].join('; '), 300);
}
