import { describe, expect, it } from 'vitest';
import { rulesOfLine } from '../../../src/core/order/sku.ts';

const paidMs = Date.parse('2026-11-01T12:00:00Z');
const hour = 3_600_000;

describe('the rules of an order line', () => {
  it('are none, and no deadline, where neither the SKU nor the shop has any', () => {
    expect(rulesOfLine({}, {}, paidMs)).toEqual({ rules: {}, notAfterMs: null });
  });

  it('are those of the shop, unless the SKU says otherwise, key by key', () => {
    const shop = { split: true, partial: true, fallback_currency: 'EUR', wait_h: 48 };
    expect(rulesOfLine({}, shop, paidMs)).toEqual({
      rules: { split: true, partial: true, fallback_currency: 'EUR' },
      notAfterMs: paidMs + 48 * hour,
    });
    const sku = { partial: false, fallback_currency: 'GBP', wait_h: 1 };
    expect(rulesOfLine(sku, shop, paidMs)).toEqual({
      rules: { split: true, fallback_currency: 'GBP' },
      notAfterMs: paidMs + hour,
    });
  });

  it('end at the earlier of two deadlines', () => {
    const end = Date.parse('2026-11-01T14:00:00+01:00');
    expect(
      rulesOfLine({ not_after: '2026-11-01T14:00:00+01:00' }, { wait_h: 48 }, paidMs).notAfterMs,
    ).toBe(end);
    const both = { wait_h: 1, not_after: '2026-12-01T00:00:00Z' };
    expect(rulesOfLine(both, {}, paidMs).notAfterMs).toBe(paidMs + hour);
  });
});
