import { describe, expect, it } from 'vitest';
import { startSubmission, type Submission } from '../support/submission.ts';

const accounts = [
  {
    id: 'acme',
    keys: [
      { name: 'main', value: 'key-main' },
      { name: 'next', value: 'key-next' },
    ],
  },
];

/** A worker whose key is revoked; the 401 to one of its calls is on its way. */
async function withRefusalUnderWay(use: (worker: Submission) => Promise<void>): Promise<void> {
  const worker = await startSubmission({
    sandbox: { limits: { enabled: false }, accounts, latency: { after_ms: [400, 400] } },
    keys: { main: 'key-main' },
    // A denied key would be probed after ten seconds, and an order be tried again at once.
    retryTimeScale: 1 / 30,
  });
  try {
    await worker.sandbox.operate((operator) => operator.revokeKey('acme', 'main'));
    await worker.accept([{}]);
    await worker.until(() => worker.counts().sending > 0);
    await use(worker);
  } finally {
    await worker.close();
  }
}

describe('a 401 that arrives after the key was changed', () => {
  it('does not delay a call with the new value', () =>
    withRefusalUnderWay(async (worker) => {
      await worker.useKeys({ main: 'key-next' });
      await worker.settled();
      expect(worker.counts().fulfilled).toBe(1);
      expect(worker.sandbox.ledger().orders).toHaveLength(1);
      // The new value is used at once: nothing asks first whether it works.
      expect(worker.sandbox.ledger().calls.map(({ operation }) => operation)).toEqual(
        Array(2).fill('gift_card_order'),
      );
    }));

  it('pauses nothing when the key was removed', () =>
    withRefusalUnderWay(async (worker) => {
      await worker.useKeys({ spare: 'key-next' });
      await worker.settled();
      expect(worker.counts().fulfilled).toBe(1);
      expect(await worker.store.pauses.all()).toEqual([]);
    }));
});

describe('an answer to another order that arrives after the key was changed', () => {
  it('pauses its product, which no probe with the new value resumes', {
    timeout: 30_000,
  }, async () => {
    const worker = await startSubmission({
      sandbox: {
        limits: { enabled: false },
        accounts,
        faults: [
          {
            fault: {
              fault: 'answer',
              status: 200,
              body: '{"reference":"somebody-elses","status":"completed"}',
              when: 'before',
            },
            match: { operation: 'gift_card_order' },
            at: [1],
          },
        ],
        latency: { after_ms: [400, 400] },
      },
      keys: { main: 'key-main' },
    });
    try {
      await worker.accept([{}]);
      await worker.until(() => worker.counts().sending > 0);
      await worker.useKeys({ main: 'key-next' });
      await worker.settled();
      expect(worker.counts().needs_review).toBe(1);
      expect(await worker.store.pauses.all()).toMatchObject([
        { scope: 'variant:steam-usd-5', reason: 'answer_mismatch' },
      ]);
    } finally {
      await worker.close();
    }
  });
});

describe('a 429 that arrives after the key was changed', () => {
  it('does not make the new value back off', async () => {
    const worker = await startSubmission({
      sandbox: {
        limits: { enabled: false },
        accounts,
        faults: [
          {
            fault: { fault: 'rate_limited', retry_after_s: 600 },
            match: { operation: 'gift_card_order' },
            at: [1],
          },
        ],
        latency: { after_ms: [400, 400] },
      },
      keys: { main: 'key-main' },
    });
    try {
      await worker.accept([{}]);
      await worker.until(() => worker.counts().sending > 0);
      await worker.useKeys({ main: 'key-next' });
      await worker.logged('gift_card_order waiting');
      await worker.accept([{}]);
      await worker.until(() => worker.counts().fulfilled > 0);
      // The order itself waits as long as it was asked to.
      expect(worker.counts()).toMatchObject({ fulfilled: 1, waiting: 1 });
    } finally {
      await worker.close();
    }
  });
});
