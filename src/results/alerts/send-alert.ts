import { DeliveryError } from '../../core/result/delivery-error.ts';
import { isLoopback } from '../../core/settings/schema-values.ts';
import type { AlertSettings } from '../settings.ts';
import { postSigned, type PostDeps } from '../signed-post.ts';
import type { AlertMessage } from './message.ts';

/** Discord takes no longer text. */
const longestChatText = 1900;

/**
 * Resolves to what the endpoint answered, and whether it took the alert for every address.
 * @throws DeliveryError
 */
export async function sendAlert(
  settings: AlertSettings,
  message: AlertMessage,
  deps: Omit<PostDeps, 'configKey'>,
) {
  const { format } = settings;
  if (format === 'email') return await sendMail(settings, message, deps.signal);
  const { id, event, text } = message;
  const body = `${JSON.stringify(format === 'slack' ? { text: chatText(text) } : event)}\n`;
  // Who knows the address may post there anyway, so a signature would prove nothing.
  const receiver = { ...settings, secrets: [] };
  const status = await postSigned(receiver, { id, body }, { ...deps, configKey: 'alerts' });
  return { answer: String(status), isComplete: true };
}

/** An id must not make a link or a mention of everybody. */
const chatText = (text: string): string =>
  text
    .slice(0, longestChatText)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('@', '@\u200b');

/** Without TLS only to a mail server of this machine; certificates are verified. */
async function sendMail(
  { url, to, from, connectMs, totalMs }: AlertSettings,
  { id, subject, text }: AlertMessage,
  stopped: AbortSignal,
) {
  const isLocal = url.startsWith('smtp:') && isLoopback(new URL(url).hostname);
  try {
    // Few workers need it, and loading takes time.
    const { createTransport } = await import('nodemailer');
    const tls = { ignoreTLS: isLocal, requireTLS: !isLocal };
    const transport = createTransport({ url, ...tls, connectionTimeout: connectMs });
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(totalMs)]);
    const messageId = `<${id}@order-sync>`;
    const mail = { from: `${from}`, to: to?.join() ?? '', subject, text, messageId, signal };
    const { response, rejected } = await transport.sendMail(mail);
    const refused = rejected.map((address) => `, refused for ${address}`);
    return { answer: `${response}${refused.join('')}`, isComplete: refused.length === 0 };
  } catch (cause) {
    const {
      code = '',
      message,
      response,
      command,
    }: Partial<Record<string, string>> = Object(cause);
    // The answer to a password may repeat it.
    const answer = response?.slice(0, command?.startsWith('AUTH') ? 3 : 200);
    const why = answer === undefined ? `could not be used: ${message}` : `answered ${answer}`;
    const reason = answer === undefined ? code : `smtp_${answer.slice(0, 3)}`;
    throw new DeliveryError(`the mail server ${why}`, { reason, cause });
  }
}
