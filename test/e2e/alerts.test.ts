import { expect, it, onTestFinished } from 'vitest';
import { refuses } from '../support/fake-api.ts';
import { WorkerWithFakeApi } from '../support/worker-with-fake-api.ts';
import { Receiver, takes } from '../support/receiver.ts';

it('a worker posts an alert about a paid line that was refused, none again after a restart, and with the link of now', {
  timeout: 90_000,
}, async () => {
  const receiver = await Receiver.open(takes);
  onTestFinished(() => receiver.close());
  const world = await WorkerWithFakeApi.open({
    variants: { good: {}, odd: { behaviour: refuses(422, 'order_refused') } },
  });
  const { installation } = world;
  installation.configure((config) => {
    config.alerts = [{ name: 'ops', url: receiver.url }];
  });
  await world.worker.end('SIGTERM');
  const second = installation.start();
  await second.started();
  // Until a lookup has found an order, a rejection needs review.
  world.order('bought', 1, { variant: 'good' });
  await second.line(({ msg }) => msg.startsWith('lookups work'));
  world.order('first', 1, { variant: 'odd' });
  await receiver.arrived(1);
  const alert = JSON.parse(receiver.posts[0]?.body ?? '');
  expect(alert.data).toMatchObject({
    instance: 'test-shop',
    firing: [
      {
        condition: 'rejected',
        count: 1,
        link: null,
        examples: [{ order_id: 'first-1', code: 'order_refused' }],
      },
    ],
  });
  expect(await second.end('SIGTERM')).toBe(0);
  const third = installation.start();
  await third.started();
  installation.configure((config) => {
    config.admin.hosts = ['orders.example.com'];
  });
  expect(await third.reload()).toMatchObject({ need_restart: [] });
  world.order('second', 1, { variant: 'odd' });
  await receiver.arrived(2);
  expect(JSON.parse(receiver.posts[1]?.body ?? '').data.firing).toMatchObject([
    { condition: 'rejected', count: 2, link: 'https://orders.example.com/attention?kind=rejected' },
  ]);
});

it('a worker posts a total stop while a small alert has just been posted', {
  timeout: 180_000,
}, async () => {
  const receiver = await Receiver.open(takes);
  onTestFinished(() => receiver.close());
  // Something must last for six seconds, and small alerts have a minute and a half between them.
  const world = await WorkerWithFakeApi.open({}, { timeScale: 0.1 });
  const { installation } = world;
  installation.configure((config) => {
    config.alerts = [{ name: 'ops', url: receiver.url }];
  });
  await world.worker.end('SIGTERM');
  await installation.start().started();
  installation.drop('bad.csv', 'order_id;variant\n1;\n');
  await receiver.arrived(1);
  const firstMs = performance.now();
  expect(JSON.parse(receiver.posts[0]?.body ?? '').data.firing).toMatchObject([
    { severity: 'warning' },
  ]);
  await world.api.close();
  world.order('stop', 5, { variant: 'card' });
  await receiver.arrived(2);
  expect(performance.now() - firstMs).toBeLessThan(60_000);
  expect(JSON.parse(receiver.posts[1]?.body ?? '').data.firing).toMatchObject([
    {
      condition: 'pause:account',
      severity: 'critical',
      held_up: expect.stringMatching(/^5 orders, /),
    },
  ]);
});
