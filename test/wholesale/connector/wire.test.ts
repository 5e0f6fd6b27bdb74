import { describe, expect, it } from 'vitest';
import type { Operation } from '../../../src/core/order/purchase.ts';
import { renderRequest } from '../../../src/wholesale/connector/render-request.ts';
import { readWire, wireSchema, type WireOverrides } from '../../../src/wholesale/connector/wire.ts';
import { facts, iccid } from '../api-calls.ts';

/** A mapping of gift card orders whose body has other fields. */
function order(more: Readonly<Record<string, string>>, without = ''): WireOverrides {
  const fields = {
    reference: '{reference}',
    sku: '{variant}',
    quantity: '{quantity}',
    currency: '{currency}',
    ...more,
  };
  return {
    gift_card_order: {
      body: Object.fromEntries(Object.entries(fields).filter(([name]) => name !== without)),
    },
  };
}

describe('the wire mapping', () => {
  it('is complete without any config', () => {
    expect(wireSchema.parse({})).toEqual(readWire(undefined));
    expect(readWire(undefined).lookup).toEqual({
      gift_card: { method: 'GET', path: '/orders/{key}', accepted: 'off' },
      esim: { method: 'GET', path: '/esim/orders/{key}', accepted: 'off' },
      compare: ['product', 'quantity', 'days', 'currency', 'iccid'],
      absent: 'not_found',
    });
    expect(readWire(undefined).catalogue.paging.mode).toBe('off');
  });

  it('takes the given parts from the config and keeps the other defaults', () => {
    const body = { reference: '{reference}', plan: '{plan}', sim: '{iccid}' };
    const wire = wireSchema.parse({
      esim_topup: { path: '/esim/topups', body },
      answer: { codes: { lists: ['delivered'] } },
      lookup: { esim: 'off' },
    });
    expect(wire.esim_topup).toEqual({
      method: 'POST',
      path: '/esim/topups',
      body,
    });
    expect(wire.answer.codes.lists).toEqual(['delivered']);
    expect(wire.answer.codes.pin).toEqual(readWire(undefined).answer.codes.pin);
    expect(wire.answer.esims).toEqual(readWire(undefined).answer.esims);
    expect(wire.lookup).toEqual({ ...readWire(undefined).lookup, esim: 'off' });
  });

  it.each([
    ['an unknown part', { orders: {} }],
    ['the given path of an order', { gift_card_order: { path: '/buy' } }],
    ['another name of the reference', order({ id: '{reference}' }, 'reference')],
    ['another name of the quantity', order({ count: '{quantity}' }, 'quantity')],
    ['an order without its product', order({}, 'sku')],
    ['an order with its product twice', order({ again: '{variant}' })],
    ['a placeholder in a longer text', order({ note: 'for {reference}' })],
    ['a placeholder that no order has', order({ note: '{varient}' })],
    ['a header that the worker sets', { headers: { Authorization: 'x' } }],
    ['a header of two lines', { headers: { 'X-A': 'a\nb' } }],
    [
      'a call for accepted orders that names none',
      { lookup: { esim: { path: 'off', accepted: { path: '/o' } } } },
    ],
    ['a path that does not start with a slash', { esim_cancel: { path: 'esim/{iccid}' } }],
    ['a path to another server', { esim_cancel: { path: '//evil.example/{iccid}' } }],
    ['a placeholder that means nothing', { lookup: { esim: { path: '/esim/{number}' } } }],
    ['a lookup without its key', { lookup: { esim: { path: '/esim/orders' } } }],
    ['a cancel that names no eSIM', { esim_cancel: { path: '/esim/cancel' } }],
    [
      'a cancel that names its eSIM in a body that is not sent',
      { esim_cancel: { path: '/c', body: 'none' } },
    ],
    ['an amount as a list of codes', { answer: { codes: { lists: ['lines[].price'] } } }],
    ['a currency as a list of eSIMs', { answer: { esims: { lists: ['currency'] } } }],
    [
      'a reference on a cancel, which carries none',
      { esim_cancel: { body: { reference: '{reference}' } } },
    ],
  ])('rejects %s', (_what, overrides) => {
    expect(wireSchema.safeParse(overrides).success).toBe(false);
  });
});

const render = (operation: Operation, overrides: WireOverrides = {}) =>
  renderRequest(facts[operation], wireSchema.parse(overrides));

describe('a request', () => {
  it('has exactly the bytes that the specification and the mapping define', () => {
    expect(render('gift_card_order')).toEqual({
      headers: {},
      method: 'POST',
      path: '/orders',
      body: '{"reference":"os-aaaa","variant":"steam-10","quantity":2,"currency":"USD"}',
    });
    expect(render('esim_order')).toEqual({
      headers: {},
      method: 'POST',
      path: '/esim/orders',
      body: '{"reference":"os-bbbb","plan":"fr-daily","quantity":1,"currency":"EUR","days":7}',
    });
    expect(render('esim_topup')).toEqual({
      headers: {},
      method: 'POST',
      path: `/esim/esims/${iccid}/topups`,
      body: '{"reference":"os-cccc","plan":"fr-1gb","currency":"USD"}',
    });
    expect(render('esim_cancel')).toEqual({
      headers: {},
      method: 'POST',
      path: `/esim/esims/${iccid}/cancel`,
      body: '{}',
    });
  });

  it('has the form that the mapping defines', () => {
    const body = {
      order: {
        items: [{ sku: '{variant|text}', quantity: '{quantity|text}' }],
        channel: 'api',
        test: false,
        x: null,
      },
      reference: '{reference}',
      wallet: '{currency|lower}',
      balance: '{balance}',
    };
    const mapping = { balances: { USD: 'bal_1' }, gift_card_order: { body } };
    expect(render('gift_card_order', mapping).body).toBe(
      '{"order":{"items":[{"sku":"steam-10","quantity":"2"}],"channel":"api","test":false,"x":null},' +
        '"reference":"os-aaaa","wallet":"usd","balance":"bal_1"}',
    );
    const numbers = order({ sku: '{variant|int}' });
    const wire = wireSchema.parse(numbers);
    expect(renderRequest({ ...facts.gift_card_order, variant: '4711' }, wire).body).toContain(
      '"sku":4711',
    );
    // An order that cannot be said so is never sent.
    expect(() => renderRequest(facts.gift_card_order, wire)).toThrow(
      '"steam-10" is a whole number',
    );
    expect(() => render('gift_card_order', { gift_card_order: { body } })).toThrow('{balance}');
    // No plan that is not daily has days.
    expect(
      renderRequest({ ...facts.esim_order, days: null }, readWire(undefined)).body,
    ).not.toContain('days');
    const byBody = { path: '/esim/cancellations', body: { sim: '{iccid}' } };
    expect(render('esim_cancel', { esim_cancel: byBody })).toMatchObject({
      path: '/esim/cancellations',
      body: `{"sim":"${iccid}"}`,
    });
  });

  it('has the headers of the mapping, and those of a reference only where it has one', () => {
    const headers = { 'API-Version': '2026-01', 'Idempotency-Key': '{reference}' };
    expect(render('esim_order', { headers }).headers).toEqual({
      'api-version': '2026-01',
      'idempotency-key': 'os-bbbb',
    });
    expect(render('esim_cancel', { headers }).headers).toEqual({ 'api-version': '2026-01' });
  });

  it('may name its eSIM in the path alone', () => {
    expect(
      render('esim_cancel', {
        esim_cancel: { method: 'DELETE', path: '/esim/esims/{iccid}', body: 'none' },
      }),
    ).toEqual({
      headers: {},
      method: 'DELETE',
      path: `/esim/esims/${iccid}`,
      body: null,
    });
  });

  it('stays on its path whatever an identifier contains', () => {
    const strange = { ...facts.esim_cancel, iccid: '89/../../orders?x=1#y z' };
    expect(renderRequest(strange, readWire(undefined)).path).toBe(
      '/esim/esims/89%2F..%2F..%2Forders%3Fx%3D1%23y%20z/cancel',
    );
    expect(() => renderRequest({ ...facts.esim_cancel, iccid: '..' }, readWire(undefined))).toThrow(
      /cannot replace/,
    );
  });

  it('is not rendered when a needed field is missing', () => {
    for (const missing of ['variant', 'quantity', 'currency'] as const) {
      expect(() =>
        renderRequest({ ...facts.gift_card_order, [missing]: null }, readWire(undefined)),
      ).toThrow(missing);
    }
    expect(() => renderRequest({ ...facts.esim_topup, iccid: null }, readWire(undefined))).toThrow(
      'iccid',
    );
    expect(() =>
      renderRequest({ ...facts.esim_order, reference: '' }, readWire(undefined)),
    ).toThrow('reference');
  });
});
