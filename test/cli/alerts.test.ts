import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { startMailServer } from '../support/mail-server.ts';
import { answers, Receiver, takes } from '../support/receiver.ts';
import { certificates } from '../wholesale/transport/certificates.ts';
import { installation, runHere, runProgram, sandboxConfig } from './installation.ts';

async function receiving(...given: Parameters<typeof Receiver.open>): Promise<Receiver> {
  return await Receiver.open(...given);
}

it('alerts test posts to every endpoint, and says what each answered', async () => {
  const [good, bad] = [await receiving(takes), await receiving(answers(404))];
  try {
    const { configFile } = installation(
      (folder) => `${sandboxConfig(folder)}alerts:
  - { name: ops, url: "${good.url}/slack", format: slack }
  - { name: pager, url: "${bad.url}" }
`,
    );
    const test = ['alerts', 'test', '--config', configFile];
    expect(await runHere(test, new SystemClock())).toEqual({
      code: 8,
      stdout: `pass  ops: 204.
fail  pager: The receiver answered 404.
      To do: See alerts in the configuration.
`,
      stderr: '',
    });
    expect(JSON.parse(good.posts[0]?.body ?? '')).toEqual({
      text: 'order-sync acme: test alert',
    });
    expect(JSON.parse(bad.posts[0]?.body ?? '')).toMatchObject({
      type: 'alert',
      data: { instance: 'acme', test: true, firing: [], resolved: [] },
    });
  } finally {
    await good.close();
    await bad.close();
  }
});

it('alerts test sends mails with the password of a file, and fails if one address is refused', async () => {
  const tls = { ...certificates.good, secure: true };
  const { mails, port } = await startMailServer('s3cret/', tls);
  const place = installation(
    (folder) => `${sandboxConfig(folder)}alerts:
  - { name: ops, format: email, url: "file:${folder}/mail_url", to: [ops@shop.test], from: bot@shop.test }
  - { name: both, format: email, url: "file:${folder}/mail_url", to: [ops@shop.test, x@elsewhere.test], from: bot@shop.test }
`,
  );
  const url = `smtps://bot%40shop.test:s3cret%2F@localhost:${port}`;
  writeFileSync(join(place.folder, 'mail_url'), url, { mode: 0o600 });
  const trusted = join(place.folder, 'ca.pem');
  writeFileSync(trusted, certificates.good.cert);
  const test = ['alerts', 'test', '--json', '--config', place.configFile];
  const { code, stdout } = await runProgram(test, { NODE_EXTRA_CA_CERTS: trusted });
  const answer = (check: string, status: string, message: string) => {
    return { check, status, message, next: null };
  };
  expect([code, JSON.parse(stdout).checks]).toEqual([
    8,
    [
      answer('ops', 'pass', '250 queued'),
      answer('both', 'fail', '250 queued, refused for x@elsewhere.test'),
    ],
  ]);
  expect(mails).toMatchObject(
    Array.from({ length: 2 }, () => ({ from: 'bot@shop.test', to: ['ops@shop.test'] })),
  );
});

it('alerts test fails where no alerts are configured', async () => {
  const place = installation();
  expect(await place.run('alerts', 'test')).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('No alerts are configured'),
  });
});
