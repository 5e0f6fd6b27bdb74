import { createServer } from 'node:net';
import { once } from 'node:events';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { SystemClock } from '../../../src/ops/system-clock.ts';
import { testMessage } from '../../../src/results/alerts/message.ts';
import { sendAlert } from '../../../src/results/alerts/send-alert.ts';
import { alertPace } from '../../../src/results/settings.ts';
import { startMailServer } from '../../support/mail-server.ts';
import { certificates } from '../../wholesale/transport/certificates.ts';

const password = 'p@ss/w%rd';
const login = `bot%40shop.test:${encodeURIComponent(password)}`;
const message = { ...testMessage('acme', 0), text: 'Prüfung\n.\n.. end' };

function trust({ cert }: { readonly cert: string }): void {
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, cert]);
  onTestFinished(() => setDefaultCACertificates(before));
}

function send(url: string, changes: { readonly from?: string; readonly to?: string[] } = {}) {
  const addresses = { to: ['ops@shop.test'], from: 'bot@shop.test', ...changes };
  const endpoint = { name: 'ops', url, format: 'email', ...addresses } as const;
  const { signal } = new AbortController();
  const deps = { clock: new SystemClock(), version: '1', signal };
  return sendAlert({ ...endpoint, ...alertPace(1), totalMs: 3000 }, message, deps);
}

it('a mail goes out by STARTTLS with user and password, and can be read', async () => {
  trust(certificates.anyAddress);
  const { mails, port } = await startMailServer(password, certificates.anyAddress);
  const answered = await send(`smtp://${login}@0.0.0.0:${port}`, {
    to: ['a@shop.test', 'b@shop.test'],
  });
  expect(answered).toEqual({ answer: '250 queued', isComplete: true });
  expect(mails).toMatchObject([
    {
      from: 'bot@shop.test',
      to: ['a@shop.test', 'b@shop.test'],
      isEncrypted: true,
      user: 'bot@shop.test',
      content: expect.stringContaining('Subject: order-sync acme: test alert\r\n'),
    },
  ]);
  expect(mails[0]?.content).toMatch(new RegExp(`^Message-ID: <${message.id}@order-sync>`, 'm'));
  expect(mails[0]?.content).toContain('Pr=C3=BCfung\r\n');
});

it('a mail goes out by TLS from the start, with another sender', async () => {
  trust(certificates.anyAddress);
  const tls = { ...certificates.anyAddress, secure: true };
  const { mails, port } = await startMailServer(password, tls);
  await send(`smtps://${login}@0.0.0.0:${port}`, { from: 'alerts@shop.test' });
  expect(mails).toMatchObject([{ from: 'alerts@shop.test', isEncrypted: true }]);
});

it('a mail server of this machine needs neither TLS nor a user', async () => {
  const { mails, port } = await startMailServer(password, { authOptional: true });
  await send(`smtp://127.0.0.1:${port}`);
  expect(mails).toMatchObject([{ to: ['ops@shop.test'], isEncrypted: false }]);
});

it('no password goes to a server without TLS, or with a certificate that nobody trusts', async () => {
  const tries: unknown[] = [];
  const onAuth = (auth: unknown) => void tries.push(auth);
  const plain = await startMailServer(password, { disabledCommands: ['STARTTLS'], onAuth });
  await expect(send(`smtp://${login}@0.0.0.0:${plain.port}`)).rejects.toMatchObject({
    reason: 'smtp_500',
  });
  const unknown = await startMailServer(password, { ...certificates.anyAddress, onAuth });
  await expect(send(`smtp://${login}@0.0.0.0:${unknown.port}`)).rejects.toMatchObject({
    message: expect.stringContaining('self-signed certificate'),
  });
  expect(tries).toEqual([]);
});

it('a refusal is shown with its answer, but never with the password', async () => {
  const { port } = await startMailServer('another', {
    authOptional: true,
    allowInsecureAuth: true,
  });
  const server = `127.0.0.1:${port}`;
  const to = ['x@elsewhere.test'];
  await expect(send(`smtp://${server}`, { to })).rejects.toMatchObject({
    message: 'the mail server answered 550 relay denied',
    reason: 'smtp_550',
  });
  const wrong = send(`smtp://${login}@${server}`).catch((error: unknown) => String(error));
  expect(await wrong).toBe('OrderSyncError: the mail server answered 535');
});

it('an address that is refused is named, and the others get the mail', async () => {
  const { mails, port } = await startMailServer(password, { authOptional: true });
  const to = ['ops@shop.test', 'x@elsewhere.test'];
  expect(await send(`smtp://127.0.0.1:${port}`, { to })).toEqual({
    answer: '250 queued, refused for x@elsewhere.test',
    isComplete: false,
  });
  expect(mails).toMatchObject([{ to: ['ops@shop.test'] }]);
});

it('a mail server that says nothing is given up', async () => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const address = silent.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  await expect(send(`smtp://127.0.0.1:${port}`)).rejects.toMatchObject({
    code: 'UNREACHABLE',
    reason: 'EABORT',
  });
});
