import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { onTestFinished } from 'vitest';

export interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  readonly isEncrypted: boolean;
  readonly user: unknown;
  /** Headers and text, as they came. */
  readonly content: string;
}

/**
 * A mail server on real sockets, on every address of this machine, until the test has finished.
 * Its only user is `bot` with this password; it refuses mail for addresses of `elsewhere.test`.
 */
export async function startMailServer(password: string, options: SMTPServerOptions = {}) {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    authOptional: options.authOptional ?? false,
    logger: false,
    onAuth: (auth, _session, answer) => {
      if (auth.username === 'bot@shop.test' && auth.password === password)
        return answer(null, { user: auth.username });
      return answer(new Error(`Wrong password ${auth.password}`));
    },
    onRcptTo: ({ address }, _session, answer) =>
      answer(address.endsWith('@elsewhere.test') ? new Error('relay denied') : null),
    onData: (stream, { envelope, secure: isEncrypted, user }, answer) => {
      void text(stream).then((content) => {
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
        const to = envelope.rcptTo.map(({ address }) => address);
        mails.push({ from, to, isEncrypted, user, content });
        answer(null, 'queued');
      });
    },
    ...options,
  });
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  const address = server.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { mails, port };
}
