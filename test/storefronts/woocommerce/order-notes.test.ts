import { describe, expect, it } from 'vitest';
import type { Unit } from '../../../src/core/answers/order-answer.ts';
import { markersIn } from '../../../src/storefronts/woocommerce/order-fields.ts';
import { customerNoteFor } from './note-of-units.ts';

/** In a shop that is five hours and a quarter ahead of UTC. */
function noteOf(...units: readonly Unit[]) {
  const times = { date_created: '2026-11-23T23:15:00', date_created_gmt: '2026-11-23T18:00:00' };
  const shown = {
    id: 7,
    ...times,
    line_items: [{ id: 71, name: 'Card', sku: 'STEAM-20', quantity: 1 }],
  };
  return customerNoteFor(shown, ...units);
}

describe('a note to the customer of a WooCommerce order', () => {
  it('has a time as its day in the zone of the shop', () => {
    expect(noteOf({ code: 'A', expires_at: '2029-11-22T20:41:44.624Z' }).text).toContain(
      'Valid until: <code>2029-11-23</code>',
    );
    expect(noteOf({ code: 'A', expires_at: '2029-11-22T12:00:00Z' }).text).toContain(
      '<code>2029-11-22</code>',
    );
    expect(noteOf({ code: 'A', expires_at: '2029-12-31' }).text).toContain(
      '<code>2029-12-31</code>',
    );
  });

  it('has no character that WordPress would remove or an old database refuse, and each other as it is', () => {
    const { text } = noteOf({ code: String.raw`A\B--"C"<D>&E🎮ü漢` });
    expect(text).toContain('Code: <code>A&#92;B--&quot;C&quot;&lt;D&gt;&amp;E&#127918;ü漢</code>');
    expect(text).not.toContain('\\');
  });

  it('is recognised by the marker of each of its lines', () => {
    const { text, markers, marker } = noteOf({ code: 'A' });
    expect([markersIn(text), markers]).toEqual([[marker], [marker]]);
    expect(noteOf({ code: 'B' }).marker).not.toBe(marker);
  });
});
