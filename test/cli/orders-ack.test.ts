import { describe, expect, it } from 'vitest';
import { knownInstallation, type Installation } from './installation.ts';
import { fillOutbox } from './sample-outbox.ts';

const rejected = 'os-kpxngmnkhaycontcxzqnrzgdxp';
const inReview = 'os-6kaxc2lkdkxasrz3ryxnk4zzla';
const why = ['--reason', 'refunded by hand'];

/**
 * One row each of needs_review, pause, rejected (since 11:00:01) and invalid_line (since 11:00:00);
 * it is 12:00.
 */
async function filled(): Promise<Installation> {
  const outbox = knownInstallation();
  await fillOutbox(outbox);
  return outbox;
}

async function counts(outbox: Installation): Promise<unknown> {
  return JSON.parse((await outbox.run('queue', 'status', '--json')).stdout).attention_counts;
}

const all = { needs_review: 1, pause: 1, rejected: 1, invalid_line: 1 };

describe('order-sync orders ack', () => {
  it('ends the named rows at once, and the audit log keeps who did it and why', async () => {
    const outbox = await filled();
    const done = await outbox.run('orders', 'ack', rejected, 'line:1', ...why);
    expect(done).toEqual({ code: 0, stdout: '2 of 2 are acknowledged\n', stderr: '' });
    expect(await counts(outbox)).toEqual({ needs_review: 1, pause: 1 });
    const { audit } = JSON.parse((await outbox.run('orders', 'show', '1001', '--json')).stdout);
    expect(audit).toMatchObject([
      { action: 'acknowledge', subject: rejected, reason: 'refunded by hand' },
      { action: 'acknowledge', subject: 'shop1/1001', reason: 'refunded by hand' },
    ]);
  });

  it('refuses what needs a decision, and names the allowed actions', async () => {
    const outbox = await filled();
    expect(await outbox.run('orders', 'ack', inReview, ...why)).toEqual({
      code: 5,
      stdout: '',
      stderr: `order-sync: ${inReview} is needs_review and needs a decision: this entry cannot be acknowledged\nWhat to do: what can be done: retry, resolve\n`,
    });
    expect((await outbox.run('orders', 'ack', 'pause:balance:EUR', ...why)).stderr).toContain(
      '`queue resume`',
    );
    expect((await outbox.run('orders', 'ack', 'line:99', ...why)).code).toBe(4);
    expect(await counts(outbox)).toEqual(all);
  });

  it('ends what it may of several, and ends with 5 for the others', async () => {
    const outbox = await filled();
    const { code, stdout, stderr } = await outbox.run('orders', 'ack', rejected, inReview, ...why);
    expect([code, stdout]).toEqual([5, '1 of 2 are acknowledged\n']);
    expect(stderr).toMatch(
      /^refused: os-6kaxc2lkdkxasrz3ryxnk4zzla is needs_review .*retry, resolve\n$/,
    );
    expect(await counts(outbox)).toEqual({ needs_review: 1, pause: 1, invalid_line: 1 });
  });

  it('shows how many rows fit a filter, and ends them only with --yes', async () => {
    const outbox = await filled();
    const preview = await outbox.run('orders', 'ack', '--source', 'shop1', ...why);
    expect(preview.stdout).toMatch(
      /^2 \(1 invalid_line, 1 rejected\) would be acknowledged; do it with --yes\n1 other rows need a decision and stay\n\nATTENTION[^]*invalid_variant[^]*invalid_field/,
    );
    expect(await counts(outbox)).toEqual(all);
    expect((await outbox.run('orders', 'ack', '--source', 'shop1', '--yes', ...why)).stdout).toBe(
      '2 are acknowledged\n',
    );
    expect(await counts(outbox)).toEqual({ needs_review: 1, pause: 1 });
  });

  it('takes what fits all filters, and nothing that is younger', async () => {
    const outbox = await filled();
    const would = async (...filter: string[]) => {
      const { stdout } = await outbox.run('orders', 'ack', ...filter, ...why, '--json');
      return JSON.parse(stdout).would_acknowledge;
    };
    expect(await would('--older-than', '59min')).toBe(2);
    expect(await would('--older-than', '1h')).toBe(0);
    expect(await would('--older-than', '7d')).toBe(0);
    expect(await would('--code', 'invalid_variant')).toBe(1);
    expect(await would('--code', 'invalid_variant', '--source', 'shop2')).toBe(0);
  });

  it('keeps its JSON contract', async () => {
    const outbox = await filled();
    const ask = async (...argv: string[]) =>
      JSON.parse((await outbox.run('orders', 'ack', ...argv, ...why, '--json')).stdout);
    expect(await ask('--code', 'invalid_variant')).toEqual({
      would_acknowledge: 1,
      counts: { rejected: 1 },
      first: [
        expect.objectContaining({
          kind: 'rejected',
          id: rejected,
          order_id: '1001',
          can_acknowledge: true,
        }),
      ],
      need_decision: 0,
    });
    expect(await ask('--code', 'invalid_variant', '--yes')).toEqual({
      acknowledged: [rejected],
      refused: [],
    });
    const hint = 'what can be done: retry, resolve';
    expect(await ask('line:1', inReview)).toEqual({
      acknowledged: ['line:1'],
      refused: [
        {
          id: inReview,
          code: 'NOT_ALLOWED',
          message: expect.stringContaining('needs a decision'),
          hint,
        },
      ],
    });
  });

  it.each([
    [],
    [rejected, '--code', 'invalid_variant'],
    ['--older-than', '7'],
    ['--older-than', '-1d'],
  ])('ends with 2 when it is not clear what is meant: %j', async (...argv) => {
    const outbox = await filled();
    expect((await outbox.run('orders', 'ack', ...argv, ...why, '--yes')).code).toBe(2);
    expect((await outbox.run('orders', 'ack', rejected)).code).toBe(2);
    expect(await counts(outbox)).toEqual(all);
  });
});
