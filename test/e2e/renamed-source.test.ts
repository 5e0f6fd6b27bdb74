import { expect, it, onTestFinished } from 'vitest';
import { Installation } from '../support/worker-process.ts';

const order = (id: string): string =>
  `{"order_id":"${id}","currency":"USD","lines":[{"line_id":"1","type":"gift_card_order","variant":"steam-usd-5","quantity":1}]}`;

it('a folder or a token whose source is renamed buys nothing again: start and reload are refused', {
  timeout: 60_000,
}, async () => {
  const installation = await Installation.open({
    webhook: { tokens: [{ name: 'form', value: 'a-token-of-the-form-it-is' }] },
  });
  onTestFinished(() => installation.close());
  installation.drop('a.ndjson', `${order('1')}\n`);
  const worker = installation.start();
  const { webhook } = await worker.started();
  const sent = await fetch(`http://${String(webhook)}/v1/orders`, {
    method: 'POST',
    headers: {
      authorization: 'Bearer a-token-of-the-form-it-is',
      'content-type': 'application/json',
    },
    body: order('2'),
  });
  expect(sent.status).toBe(202);
  await expect
    .poll(() => installation.query("SELECT 1 FROM outbox WHERE state = 'fulfilled'").length, {
      timeout: 30_000,
    })
    .toBe(2);

  // oxlint-disable-next-line typescript/no-explicit-any -- the config file as it is
  const rename = (change: (intake: any) => void): void =>
    installation.configure(({ intake }) => change(intake));
  rename(({ webhook: { tokens } }) => void (tokens[0].name = 'front'));
  expect(JSON.stringify(await worker.reload())).toContain('set sources: [form]');
  expect(await worker.end('SIGTERM')).toBe(0);

  const token = installation.start();
  expect(await token.exited()).toBe(3);
  expect(token.stderr).toContain('set sources: [form]');

  rename((intake) => {
    intake.webhook.tokens[0].sources = ['form'];
    intake.folders = [{ name: 'folder', source: 'shop' }];
  });
  const folder = installation.start();
  expect(await folder.exited()).toBe(3);
  expect(folder.stderr).toContain('set source: folder');

  rename((intake) => delete intake.folders);
  const last = installation.start();
  await last.started();
  expect(await last.end('SIGTERM')).toBe(0);
});
