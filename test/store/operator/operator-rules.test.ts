import { stateText } from '../../../src/admin/entry-text.ts';
import { stepsOf } from '../../support/steps.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { EntryActionName } from '../../../src/core/entry/states.ts';
import { resultSchema } from '../../support/intake-openapi.ts';
import { answer, close, fulfilled, line, nothing, Outbox } from '../../support/outbox.ts';
import {
  act,
  entries,
  everything,
  referenceExpiryMs,
  names,
  nowMs,
  orders,
  outOfStock,
  inFlightWindowEndMs,
  referenceOf,
  review,
  settle,
  standingIn,
  versionOf,
} from '../../support/operator.ts';

describe('an entry of unknown outcome', () => {
  const day3 = nowMs + 3 * referenceExpiryMs;

  it('is looked up after it was held, before it is sent again', async () => {
    const box = await standingIn('pending');
    await settle(box, { ...nothing, nextStep: 'send' });
    await act(box, { action: 'hold' });
    await act(box, { action: 'release' }, { nowMs: day3 });
    expect(entries(box)[0]).toMatchObject({
      state: 'unknown',
      next_step: 'lookup',
      outcome_unknown: 1,
    });
  });

  it('is never sent again when its reference has expired and no lookup exists: it needs review', async () => {
    const blind = { nowMs: day3, lookupFamilies: [] };
    let box = await standingIn('held, unknown');
    await act(box, { action: 'release' }, blind);
    expect(entries(box)[0]).toMatchObject({
      state: 'needs_review',
      outcome_unknown: 1,
      held_from: null,
    });
    await expect(act(box, { action: 'retry' }, blind)).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
    });
    box = await standingIn('unknown');
    await expect(act(box, { action: 'retry' }, blind)).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
    });
    // The reference has not expired: the API still knows it, and answers with the first order.
    await act(box, { action: 'retry' }, { lookupFamilies: [] });
    expect(entries(box)[0]).toMatchObject({
      state: 'unknown',
      next_step: 'send',
      outcome_unknown: 1,
    });
  });

  it('keeps an earlier buffered rejection, so that only a lookup settles it', async () => {
    const box = await standingIn('pending');
    const refused = { code: 'out_of_stock', message: 'no stock', buffered: true };
    await settle(box, { ...nothing, row: 'out_of_stock', error: refused });
    await act(box, { action: 'retry' });
    expect(entries(box)[0]).toMatchObject({
      error_buffered: 1,
      outcome_row: 'out_of_stock',
      outcome_unknown: 1,
    });
  });

  it('cannot be resolved as rejected before the in-flight window has ended', async () => {
    const box = await standingIn('needs_review, outcome unknown');
    const order = { action: 'resolve', as: 'rejected', orderNumber: null, note: null } as const;
    await expect(act(box, order, { nowMs: inFlightWindowEndMs - 1 })).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
    });
    await act(box, order, { nowMs: inFlightWindowEndMs });
    expect(entries(box)[0]).toMatchObject({
      state: 'rejected',
      outcome_unknown: 0,
      error_code: 'rejected_by_person',
    });
    const { newReference } = await act(box, { action: 'reorder', confirm: referenceOf(box) });
    expect(newReference).not.toBeNull();
  });

  it('cannot be re-ordered until an operator says that it was not bought', async () => {
    for (const situation of names.filter((name) =>
      /unknown|\bplaced|needs_review|sending/.test(name),
    )) {
      const box = await standingIn(situation);
      const tried: EntryActionName[] = [
        'release',
        'retry',
        'hold',
        'cancel',
        'reorder',
        'release',
        'cancel',
        'reorder',
      ];
      for (const action of tried) await act(box, orders(box)[action]).catch(() => undefined);
      expect([situation, entries(box).length]).toEqual([situation, 1]);
    }
  });
});

describe('an entry that an operator resolves', () => {
  const bought = { action: 'resolve', as: 'fulfilled', orderNumber: 'GC-77', note: null } as const;

  it('as bought gets the order number that the operator found in the list of the supplier', async () => {
    const box = await standingIn('needs_review, outcome unknown');
    const order = { ...bought, units: [{ code: 'AAAA-1111' }] };
    await expect(act(box, { ...order, orderNumber: null, units: [] })).rejects.toThrow(
      'without an order number',
    );
    await act(box, order);
    const [due] = await box.store.results.dueDeliveries('folder', nowMs, 1);
    expect(due?.document).toMatchObject({
      state: 'completed',
      lines: [
        {
          state: 'fulfilled',
          entries: [{ order_number: 'GC-77', error: null, resolved_by: 'cli:anna' }],
        },
      ],
    });
    expect(due?.document.lines[0]?.entries[0]?.units).toEqual([{ code: 'AAAA-1111' }]);
  });

  it('as bought, of which nobody knows the units, is to be delivered by hand', async () => {
    const box = await standingIn('needs_review, outcome unknown');
    await expect(act(box, bought)).rejects.toMatchObject({
      message: expect.stringContaining('1 of the 1 units'),
      hint: expect.stringContaining('--no-units'),
    });
    await act(box, { ...bought, units: [] });
    const [due] = await box.store.results.dueDeliveries('folder', nowMs, 1);
    expect(due?.document).toMatchObject({
      state: 'needs_manual_delivery',
      lines: [
        {
          state: 'needs_manual_delivery',
          entries: [{ state: 'needs_manual_delivery', resolved_by: 'cli:anna' }],
        },
      ],
    });
    expect(resultSchema.parse(due?.document)).toEqual(due?.document);
  });

  it('as bought without its units delivers nothing that an order in progress showed', async () => {
    const box = await standingIn('pending');
    const shown = { ...answer, status: 'processing', units: [{ code: 'NOT-YET-1' }] };
    await settle(box, { ...nothing, row: 'accepted', answer: shown, state: 'needs_review' });
    const none = { ...bought, orderNumber: answer.orderNumber, units: [] };
    const before = everything(box);
    await expect(act(box, none)).rejects.toMatchObject({
      message: expect.stringContaining('the answers of the API showed all the units'),
      hint: expect.stringContaining('if the supplier delivered nothing, add --note'),
    });
    expect(everything(box)).toEqual(before);
    await act(box, { ...none, note: 'Nothing was delivered.' });
    const [due] = await box.store.results.dueDeliveries('folder', nowMs, 1);
    expect(due?.document.lines[0]?.entries[0]).toMatchObject({
      state: 'needs_manual_delivery',
      units: [],
    });
  });

  it('as bought gets its missing units later, and nothing else of it changes', async () => {
    const box = await standingIn('fulfilled, units missing');
    const standing = () =>
      box.store.read.attention(10).map(({ kind, message }) => `${kind}: ${message}`);
    const missing =
      'needs_manual_delivery: cli:anna found that the line was bought, as order GC-77, but 1 of 1 unit is not in the outbox';
    expect(standing()).toEqual([missing]);
    const before = everything(box);
    const units = [{ code: 'AAAA-1111' }];
    for (const order of [
      { ...bought, as: 'rejected' as const },
      { ...bought, as: 'refunded' as const },
      { ...bought, orderNumber: null },
      { ...bought, units: [] },
      { ...bought, orderNumber: 'GC-78', units },
      { ...bought, units: [{ code: 'PENDING' }] },
    ]) {
      await expect(act(box, order)).rejects.toMatchObject({ code: 'NOT_ALLOWED' });
    }
    expect([everything(box), standing()]).toEqual([before, [missing]]);
    const version = versionOf(box);
    await act(box, { ...bought, orderNumber: null, units }, { actor: 'cli:ben' });
    expect(standing()).toEqual([]);
    const { document } = box.store.read.resultDocument(1);
    expect([document.state, document.lines[0]?.entries[0]]).toMatchObject([
      'completed',
      { state: 'fulfilled', order_number: 'GC-77', units, resolved_by: 'cli:ben', error: null },
    ]);
    expect(versionOf(box)).toBe(version + 1);
    await expect(act(box, { ...bought, units })).rejects.toMatchObject({
      hint: 'no action is possible for this entry',
    });
  });

  it('keeps the units that the API delivered, and says when some are still missing', async () => {
    const box = await Outbox.open();
    onTestFinished(() => box.close());
    await box.accept([line({ quantity: 3 })]);
    await settle(box, review({ row: 'accepted', error: null, answer }));
    await act(box, { ...bought, orderNumber: 'GC-1', units: [{ code: 'BBBB-2222' }] });
    const { document } = box.store.read.resultDocument(1);
    expect(document.state).toBe('needs_manual_delivery');
    expect(document.lines[0]?.entries[0]?.units).toEqual([
      { code: 'BBBB-2222' },
      { code: 'SECRET-CODE' },
    ]);
  });

  it('needs no word about units where all of them were delivered', async () => {
    const box = await standingIn('pending');
    await settle(box, review({ row: 'accepted', error: null, answer }));
    await act(box, { ...bought, orderNumber: 'GC-1' });
    expect(box.store.read.resultDocument(1).document).toMatchObject({ state: 'completed' });
  });

  it.each([
    ['a placeholder', [{ code: 'PENDING' }], 'do not look like units'],
    ['the name of the product', [{ code: 'steam-10' }], 'do not look like units'],
    ['a serial number alone', [{ serial: 'S-1' }], 'do not look like units'],
    ['more than were ordered', [{ code: 'AAAA-1111' }, { code: 'BBBB-2222' }], 'more than the 1'],
    ['one of them twice', [{ code: 'AAAA-1111' }, { code: 'AAAA 1111' }], 'twice'],
  ])(
    'is refused with units that are %s, without showing them, and nothing changes',
    async (_why, units, says) => {
      const box = await standingIn('needs_review, outcome unknown');
      const before = everything(box);
      const error: unknown = await act(box, { ...bought, units }).catch(
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({ code: 'NOT_ALLOWED', message: expect.stringContaining(says) });
      expect(JSON.stringify(error)).not.toContain('1111');
      expect(everything(box)).toEqual(before);
    },
  );

  it('as not bought or refunded brings no units', async () => {
    const box = await standingIn('needs_review, outcome unknown');
    for (const as of ['rejected', 'refunded'] as const) {
      await expect(act(box, { ...bought, as, units: [{ code: 'AAAA-1111' }] })).rejects.toThrow(
        `no units as ${as}`,
      );
    }
    await act(box, { ...bought, as: 'refunded', units: [] });
    const { state, lines } = box.store.read.resultDocument(1).document;
    expect([state, lines[0]?.entries[0]?.resolved_by]).toEqual(['completed', 'cli:anna']);
  });

  it('leaves no code in the audit log', async () => {
    const box = await standingIn('needs_review, outcome unknown');
    await act(box, { ...bought, units: [{ code: 'AAAA-1111' }] });
    expect(JSON.stringify(box.auditLog())).not.toContain('AAAA');
    expect(box.auditLog().at(-1)).toMatchObject({
      detail: expect.stringContaining('"units_entered":1'),
    });
  });

  it('as not bought is refused when the API accepted the order', async () => {
    const box = await standingIn('needs_review, accepted');
    const order = { action: 'resolve', as: 'rejected', orderNumber: null, note: null } as const;
    await expect(act(box, order)).rejects.toMatchObject({
      hint: expect.stringContaining('--order-number GC-1'),
    });
    await expect(act(box, { ...order, orderNumber: 'GC-2' })).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
    });
    await act(box, { ...order, orderNumber: 'GC-1' });
    expect(entries(box)[0]).toMatchObject({ state: 'rejected', order_number: 'GC-1' });
  });

  it('as not bought is refused when units were delivered', async () => {
    const box = await standingIn('pending');
    await settle(box, review({ row: 'accepted', error: null, answer }));
    const order = { action: 'resolve', as: 'rejected', orderNumber: 'GC-1', note: null } as const;
    await expect(act(box, order)).rejects.toThrow('1 units');
    expect(entries(box)[0]).toMatchObject({ state: 'needs_review' });
  });
});

describe('a re-order', () => {
  it('must repeat the old reference as a confirmation', async () => {
    const box = await standingIn('rejected');
    for (const confirm of ['', 'yes', `${referenceOf(box)} `]) {
      await expect(act(box, { action: 'reorder', confirm })).rejects.toMatchObject({
        hint: expect.stringContaining('--confirm'),
      });
    }
    expect(entries(box)).toHaveLength(1);
  });

  it('replaces the old entry in the result, and can be re-ordered itself', async () => {
    const box = await standingIn('rejected');
    const first = await act(box, { action: 'reorder', confirm: referenceOf(box) });
    await settle(box, { ...outOfStock, state: 'rejected' });
    const reference = first.newReference ?? '';
    const second = await act(box, { action: 'reorder', confirm: reference }, { reference });
    await settle(box, fulfilled);
    const [due] = await box.store.results.dueDeliveries('folder', nowMs, 1);
    expect(due?.document).toMatchObject({ state: 'completed', lines: [{ state: 'fulfilled' }] });
    expect(entries(box).map((row) => [row['generation'], row['part'], row['replaced']])).toEqual([
      [0, 0, 1],
      [1, 0, 1],
      [2, 0, 0],
    ]);
    expect(second.newReference).not.toBe(first.newReference);
  });

  it('of one part does not change the other part', async () => {
    const box = await standingIn('pending');
    const part1of2 = (part: number) => ({ generation: 1, part, quantity: 1, currency: 'USD' });
    await settle(box, {
      ...outOfStock,
      state: 'rejected',
      row: 'limit_exceeded',
      replacements: [part1of2(0), part1of2(1)],
    });
    await settle(box, fulfilled);
    await settle(box, { ...outOfStock, state: 'rejected' });
    const reference = String(entries(box)[2]?.['reference']);
    await act(box, { action: 'reorder', confirm: reference }, { reference });
    expect(entries(box).map((row) => [row['generation'], row['part'], row['state']])).toEqual([
      [0, 0, 'rejected'],
      [1, 0, 'fulfilled'],
      [1, 1, 'rejected'],
      [2, 2, 'pending'],
    ]);
  });
});

describe('the eSIMs that an operator names when resolving an order', () => {
  const iccid = '8988211000000000001';
  const order = {
    action: 'resolve',
    as: 'fulfilled',
    orderNumber: 'ES-7',
    note: null,
    iccids: [iccid],
    units: [],
  } as const;
  const cancelOf = (target: string) =>
    line({
      orderId: 'c',
      operation: 'esim_cancel',
      variant: null,
      iccid: target,
      quantity: null,
      currency: null,
    });

  async function doubtfulEsim(): Promise<Outbox> {
    const box = await Outbox.open();
    onTestFinished(() => box.close());
    await box.accept([line({ operation: 'esim_order', variant: null, plan: 'p', quantity: 1 })]);
    await settle(box, review({ outcomeUnknown: true, row: 'dropped' }));
    return box;
  }

  it('are known to a later cancel of them', async () => {
    const box = await doubtfulEsim();
    await act(box, order);
    await box.accept([cancelOf(iccid)]);
    expect((await box.opened()).originReference).toBe(referenceOf(box));
  });

  it.each([
    ['for an order that was not bought', { ...order, as: 'rejected' as const }],
    ['when they are more than were ordered', { ...order, iccids: [iccid, '8988211000000000019'] }],
  ])('are refused %s, and nothing changes', async (_why, wrong) => {
    const box = await doubtfulEsim();
    const before = everything(box);
    await expect(act(box, wrong)).rejects.toMatchObject({ code: 'NOT_ALLOWED' });
    expect(everything(box)).toEqual(before);
  });

  it('are refused when the API delivered them with another order, and nothing changes', async () => {
    const box = await doubtfulEsim();
    await box.accept([
      line({ orderId: 'other', operation: 'esim_order', variant: null, plan: 'p' }),
    ]);
    await stepsOf(box.store).closeAttempt(
      close(await box.opened(), { ...fulfilled, answer: { ...answer, units: [{ iccid }] } }),
    );
    const before = everything(box);
    await expect(act(box, order)).rejects.toMatchObject({ code: 'NOT_ALLOWED' });
    expect(everything(box)).toEqual(before);
  });
});

describe('an eSIM', () => {
  const iccid = '8988211000000000001';
  const cancelLine = {
    operation: 'esim_cancel',
    variant: null,
    iccid,
    quantity: null,
    currency: null,
  } as const;

  it('has one call in flight at most, also when an operator releases an earlier order during a later one', async () => {
    for (const state of ['unknown', 'waiting'] as const) {
      const box = await Outbox.open();
      onTestFinished(() => box.close());
      await box.accept([line({ ...cancelLine }), line({ ...cancelLine, orderId: '1002' })]);
      const first = await box.opened();
      await stepsOf(box.store).closeAttempt(
        close(
          first,
          state === 'unknown' ? { ...nothing, nextStep: 'send' } : { ...outOfStock, dueAtMs: 3000 },
        ),
      );
      const { reference } = first.entry;
      await act(box, { action: 'hold' }, { reference });
      const second = await box.opened({ nowMs });
      expect(second.entry.reference).not.toBe(reference);
      await act(box, { action: 'release' }, { reference, lookupFamilies: [] });
      expect(await stepsOf(box.store).openAttempt(box.claim({ nowMs: nowMs + 1 }))).toBeNull();
      await stepsOf(box.store).closeAttempt(close(second, fulfilled));
      expect((await box.opened({ nowMs: nowMs + 2 })).entry.reference).toBe(reference);
    }
  });

  it('whose order was refunded is not looked up for its cancel, which would wait for ever', async () => {
    for (const [state, step] of [
      ['fulfilled', 'lookup'],
      ['refunded', 'send'],
    ] as const) {
      const box = await Outbox.open();
      onTestFinished(() => box.close());
      await box.accept([line({ operation: 'esim_order', variant: null, plan: 'p' })]);
      await stepsOf(box.store).closeAttempt(
        close(await box.opened(), {
          ...fulfilled,
          state,
          answer: { ...answer, units: [{ iccid }] },
        }),
      );
      await box.accept([line({ ...cancelLine, orderId: 'c' })]);
      const cancel = await box.opened();
      await stepsOf(box.store).closeAttempt(close(cancel, { ...nothing, nextStep: 'send' }));
      await act(box, { action: 'retry' }, { reference: cancel.entry.reference });
      expect(entries(box)[1]).toMatchObject({ state: 'unknown', next_step: step });
    }
  });
});

describe('an entry that is looked up before it ends', () => {
  const told = (box: Outbox): string => {
    const [entry] = box.store.read.showOrder('shop1', '1001')?.entries ?? [];
    if (entry === undefined) throw new Error('the order is known');
    return stateText(entry);
  };

  it('says how it ends', async () => {
    const cancelled = await standingIn('waiting');
    await act(cancelled, { action: 'cancel' });
    expect(told(cancelled)).toBe('cancelled, being confirmed');
    const late = await Outbox.open();
    onTestFinished(() => late.close());
    await late.accept([line({ notAfterMs: 520_000 })]);
    await settle(late, outOfStock);
    await stepsOf(late.store).expireOverdue(520_000, 5);
    expect(told(late)).toBe('too late, being confirmed');
  });
});
