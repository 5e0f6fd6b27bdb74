import { expect, it, onTestFinished } from 'vitest';
import { operations } from '../../src/core/order/purchase.ts';
import { clientOf, submit } from './api-calls.ts';
import { httpAnswer, RawServer } from './transport/raw-server.ts';

it.each(operations)(
  'a success that says nothing is not accepted, and its message shows no value: %s',
  async (operation) => {
    const bodies = [
      '{}',
      '{"success":false,"hint":"QWER-7BBB"}',
      '{"ok":true}',
      '{"code":"E1","message":"QWER-7BBB"}',
    ];
    for (const body of bodies) {
      const server = await RawServer.start((socket) => void socket.end(httpAnswer(200, body)));
      onTestFinished(async () => server.close());
      const client = clientOf(server.url);
      onTestFinished(async () => client.close());
      const outcome = await submit(client, operation);
      expect(outcome).toMatchObject({
        row: 'unreadable_success',
        http: 200,
        sent: true,
        answer: null,
      });
      expect(JSON.stringify(outcome)).not.toContain('QWER');
    }
  },
);

it('unit fields that were not read are named in the message, without their values', async () => {
  const body = '{"id":1,"codes":[{"pin":"1234","security_code":"QWER"}]}';
  const server = await RawServer.start((socket) => void socket.end(httpAnswer(200, body)));
  onTestFinished(async () => server.close());
  const client = clientOf(server.url);
  onTestFinished(async () => client.close());
  const { answer, ...outcome } = await submit(client);
  expect(outcome).toMatchObject({
    row: 'accepted',
    message: 'the units in the answer have fields that wholesale.wire does not read: security_code',
  });
  expect(JSON.stringify(outcome)).not.toContain('QWER');
  expect(answer?.unreadFields).toEqual(['security_code']);
});
