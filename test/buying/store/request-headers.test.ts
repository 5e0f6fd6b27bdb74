import { stepsOf } from '../../support/steps.ts';
import { expect, it, onTestFinished } from 'vitest';
import { withoutAnswer } from '../../../src/core/answers/outcome.ts';
import { close, emptyBalance, line, Outbox } from '../../support/outbox.ts';

it('the headers of a request are sent again as they were, whatever the mapping says then', async () => {
  const box = await Outbox.open();
  onTestFinished(() => box.close());
  await box.accept([line()]);
  const render = (version: string) => () => ({
    method: 'POST',
    path: '/orders',
    body: '{}',
    headers: { 'API-Version': version },
  });
  const first = await box.opened({ render: render('1') });
  expect(first.request?.headers).toEqual({ 'API-Version': '1' });
  const end = close(first, emptyBalance);
  await stepsOf(box.store).closeAttempt({
    ...end,
    outcome: withoutAnswer('rate_limited', true, ''),
  });
  await box.reopen();
  const again = await box.opened({ render: render('2'), nowMs: 10_000_000 });
  expect(again.request).toEqual({
    method: 'POST',
    path: '/orders',
    body: '{}',
    headers: { 'API-Version': '1' },
  });
});
