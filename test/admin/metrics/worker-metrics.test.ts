import { stepsOf } from '../../support/steps.ts';
import { describe, expect, it } from 'vitest';
import { answer, close, fulfilled, line } from '../../support/outbox.ts';
import { measuredOutbox, samplesOf } from '../../support/measured-outbox.ts';

describe('the metrics of a worker', () => {
  it('have every known label from the start, with zero', async () => {
    const { metrics } = await measuredOutbox();
    const samples = samplesOf(await metrics.text());
    for (const name of [
      'order_sync_outbox_entries{state="needs_review"}',
      'order_sync_attention{kind="rejected"}',
      'order_sync_paused_scopes{kind="account"}',
      'order_sync_submission_paused{reason="api_disabled"}',
      'order_sync_lines_accepted_total{source="shop1"}',
      'order_sync_results_written_total{sink="folder",outcome="given_up"}',
      'order_sync_results_pending{sink="folder"}',
      'order_sync_attempts_total{operation="esim_topup",purpose="submit",outcome="accepted",code="none"}',
      'order_sync_attempt_duration_seconds_count{operation="gift_card_order",purpose="lookup"}',
      'order_sync_refused_callers_total{listener="admin",reason="shut_out"}',
    ])
      expect([name, samples.get(name)]).toEqual([name, 0]);
  });

  it('show the outbox, the pauses and the budget', async () => {
    const { metrics, outbox } = await measuredOutbox();
    await outbox.accept([line(), line({ orderId: '2' })]);
    const rejection = {
      lineNumber: 1,
      source: 'shop1',
      orderId: '3',
      lineId: '1',
      field: 'quantity',
      value: '0',
    };
    const rejections = [{ ...rejection, code: 'invalid_field', rule: 'must be at least 1' }];
    await outbox.store.intake.acceptBatch({ nowMs: 1000, fileId: null, lines: [], rejections });
    const pause = { message: 'm', openedBy: 'worker', nowMs: 1000, probeAtMs: 2000 };
    await outbox.store.pauses.open({
      ...pause,
      scope: 'variant:steam-usd-5',
      reason: 'order_absent',
    });
    await outbox.store.pauses.open({ ...pause, scope: 'account', reason: 'what the API wrote' });
    const samples = samplesOf(await metrics.text());
    expect(samples.get('order_sync_outbox_entries{state="pending"}')).toBe(2);
    expect(samples.get('order_sync_outbox_oldest_open_seconds')).toBe(60);
    expect(samples.get('order_sync_paused_scopes{kind="product"}')).toBe(1);
    expect(samples.get('order_sync_paused_scopes{kind="account"}')).toBe(1);
    expect(samples.get('order_sync_submission_paused{reason="order_absent"}')).toBe(1);
    expect(samples.get('order_sync_submission_paused{reason="other"}')).toBe(1);
    expect(samples.get('order_sync_rate_limit_used{key="main",limit="orders"}')).toBe(3);
    expect(samples.get('order_sync_rate_limit_wait_seconds{key="main",limit="orders"}')).toBe(1.5);
    expect(samples.get('order_sync_rate_limited_responses_total{key="main"}')).toBe(2);
    expect(samples.get('order_sync_attention{kind="invalid_line"}')).toBe(1);
    expect(samples.get('order_sync_results_pending{sink="folder"}')).toBe(1);
    expect(
      samples.get('order_sync_refused_callers_total{listener="webhook",reason="connections"}'),
    ).toBe(4);
    expect(samples.get('order_sync_health{check="submission"}')).toBe(1);
    expect(samples.get('order_sync_upkeep_failed{task="check"}')).toBe(1);
    expect(samples.get('order_sync_upkeep_failed{task="backup"}')).toBe(0);
    expect(samples.get('order_sync_db_size_bytes')).toBeGreaterThan(0);
    expect(samples.get('order_sync_clock_ahead_seconds')).toBeNaN();
  });

  it('say what was spent and refunded today, by currency', async () => {
    const { metrics, outbox } = await measuredOutbox();
    const costs = [
      ['19.00', 'USD', 'fulfilled'],
      ['0.50', 'USD', 'fulfilled'],
      ['7.25', 'EUR', 'refunded'],
      ['1.00', 'no currency', 'fulfilled'],
    ] as const;
    for (const [index, [cost, currency, state]] of costs.entries()) {
      await outbox.accept([line({ orderId: String(index) })]);
      const settlement = {
        ...fulfilled,
        state,
        answer: { ...answer, orderNumber: `W-${index}`, cost, currency, units: [] },
      };
      await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), settlement));
    }
    const samples = samplesOf(await metrics.text());
    const amounts = [...samples].filter(([name]) =>
      /^order_sync_(?:spent|refunded)_today/.test(name),
    );
    expect(Object.fromEntries(amounts)).toEqual({
      'order_sync_spent_today{currency="USD"}': 19.5,
      'order_sync_spent_today{currency="EUR"}': 7.25,
      'order_sync_spent_today{currency="other"}': 1,
      'order_sync_refunded_today{currency="USD"}': 0,
      'order_sync_refunded_today{currency="EUR"}': 7.25,
      'order_sync_refunded_today{currency="other"}': 0,
    });
  });

  it('say what is left of a balance that is known, and for how many hours', async () => {
    const { metrics, outbox } = await measuredOutbox();
    const who = { actor: 'cli:ann', reason: 'the supplier shows it', nowMs: 1 };
    await outbox.store.operator.setBalance({ ...who, currency: 'USD', millionths: 12_500_000 });
    const samples = samplesOf(await metrics.text());
    expect(samples.get('order_sync_balance_left{currency="USD"}')).toBe(12.5);
    expect(samples.get('order_sync_balance_hours_left{currency="USD"}')).toBeNaN();
  });

  it('never have a label that somebody outside wrote', async () => {
    const { metrics } = await measuredOutbox();
    const ended = {
      operation: 'gift_card_order',
      purpose: 'submit',
      durationMs: 1200,
      state: 'rejected',
    } as const;
    metrics.events.attemptEnded({ ...ended, outcome: 'unlisted_code', code: 'written-by-the-api' });
    metrics.events.attemptEnded({ ...ended, outcome: 'out_of_stock', code: 'out_of_stock' });
    metrics.events.linesAccepted(
      new Map([
        ['written-by-a-file', 3],
        ['shop1', 2],
      ]),
    );
    const text = await metrics.text();
    expect(text).not.toContain('written-by');
    const samples = samplesOf(text);
    const attempts = 'order_sync_attempts_total{operation="gift_card_order",purpose="submit"';
    expect(samples.get(`${attempts},outcome="unlisted_code",code="other"}`)).toBe(1);
    expect(samples.get(`${attempts},outcome="out_of_stock",code="out_of_stock"}`)).toBe(1);
    expect(samples.get('order_sync_lines_accepted_total{source="other"}')).toBe(3);
    expect(samples.get('order_sync_lines_accepted_total{source="shop1"}')).toBe(2);
    expect(
      samples.get('order_sync_entries_settled_total{family="gift_card",state="rejected"}'),
    ).toBe(2);
    const durations =
      'order_sync_attempt_duration_seconds_sum{operation="gift_card_order",purpose="submit"}';
    expect(samples.get(durations)).toBeCloseTo(2.4);
  });

  it('never stop what they count', async () => {
    const { metrics } = await measuredOutbox();
    const ended = {
      operation: 'gift_card_order',
      purpose: 'submit',
      outcome: 'accepted',
      code: null,
    } as const;
    metrics.events.attemptEnded({ ...ended, durationMs: Number.NaN, state: 'fulfilled' });
    const sum =
      'order_sync_attempt_duration_seconds_sum{operation="gift_card_order",purpose="submit"}';
    expect(samplesOf(await metrics.text()).get(sum)).toBe(0);
  });

  it('leave out what cannot be read, say so, and show the rest', async () => {
    let works = true;
    const { metrics, time } = await measuredOutbox({
      config: () => {
        if (!works) throw new Error('the disk is gone');
        return { disk: { minFreeBytes: 4 }, backup: { folder: '/nowhere' } };
      },
    });
    expect(samplesOf(await metrics.text()).get('order_sync_disk_min_free_bytes')).toBe(4);
    works = false;
    // What was read a moment ago is shown for a second.
    expect(samplesOf(await metrics.text()).get('order_sync_disk_min_free_bytes')).toBe(4);
    time.steadyMs = 1000;
    const samples = samplesOf(await metrics.text());
    expect(samples.get('order_sync_disk_min_free_bytes')).toBeNaN();
    expect(samples.get('order_sync_metrics_reading_failed{reading="disk"}')).toBe(1);
    expect(samples.get('order_sync_metrics_reading_failed{reading="entries"}')).toBe(0);
    expect(samples.get('order_sync_outbox_entries{state="pending"}')).toBe(0);
  });
});
