import { describe, expect, it } from 'vitest';
import type { Operation } from '../../../src/core/order/purchase.ts';
import { renderRequest } from '../../../src/wholesale/connector/render-request.ts';
import { readWire, wireSchema, type WireOverrides } from '../../../src/wholesale/connector/wire.ts';
import { facts, iccid } from '../api-calls.ts';

describe('the wire mapping', () => {
  it('is complete without any config', () => {
    expect(wireSchema.parse({})).toEqual(readWire(undefined));
    expect(readWire(undefined).lookup).toEqual({
      gift_card: { path: '/orders/{key}' },
      esim: { path: '/esim/orders/{key}' },
      compare: ['product', 'quantity', 'days', 'currency', 'iccid'],
    });
    expect(readWire(undefined).catalogue.paging.mode).toBe('off');
  });

  it('takes the given parts from the config and keeps the other defaults', () => {
    const wire = wireSchema.parse({
      esim_topup: { path: '/esim/topups', fields: { iccid: 'sim' } },
      answer: { codes: { lists: ['delivered'] } },
      lookup: { esim: 'off' },
    });
    expect(wire.esim_topup).toEqual({
      method: 'POST',
      path: '/esim/topups',
      fields: { plan: 'plan', currency: 'currency', iccid: 'sim' },
      extra: {},
    });
    expect(wire.answer.codes.lists).toEqual(['delivered']);
    expect(wire.answer.codes.pin).toEqual(readWire(undefined).answer.codes.pin);
    expect(wire.answer.esims).toEqual(readWire(undefined).answer.esims);
    expect(wire.lookup).toEqual({ ...readWire(undefined).lookup, esim: 'off' });
  });

  it.each([
    ['an unknown part', { orders: {} }],
    ['the given path of an order', { gift_card_order: { path: '/buy' } }],
    ['the given name of the reference', { gift_card_order: { fields: { reference: 'id' } } }],
    ['a path that does not start with a slash', { esim_cancel: { path: 'esim/{iccid}' } }],
    ['a path to another server', { esim_cancel: { path: '//evil.example/{iccid}' } }],
    ['a placeholder that means nothing', { lookup: { esim: { path: '/esim/{number}' } } }],
    ['a lookup without its key', { lookup: { esim: { path: '/esim/orders' } } }],
    ['a cancel that names no eSIM', { esim_cancel: { path: '/esim/cancel' } }],
    [
      'a cancel that names its eSIM in a body that is not sent',
      { esim_cancel: { path: '/c', body: 'none', fields: { iccid: 'iccid' } } },
    ],
    ['a constant in the place of the reference', { esim_order: { extra: { reference: 'x' } } }],
    ['a constant in the place of the plan', { esim_order: { extra: { plan: 'x' } } }],
    ['two fields of one name', { esim_order: { fields: { plan: 'item', currency: 'item' } } }],
    ['a field with the given name', { gift_card_order: { fields: { variant: 'quantity' } } }],
    ['a reference on a cancel, which carries none', { esim_cancel: { extra: { reference: 'x' } } }],
  ])('rejects %s', (_what, overrides) => {
    expect(wireSchema.safeParse(overrides).success).toBe(false);
  });
});

const render = (operation: Operation, overrides: WireOverrides = {}) =>
  renderRequest(facts[operation], wireSchema.parse(overrides));

describe('a request', () => {
  it('has exactly the bytes that the specification and the mapping define', () => {
    expect(render('gift_card_order')).toEqual({
      method: 'POST',
      path: '/orders',
      body: '{"reference":"os-aaaa","variant":"steam-10","quantity":2,"currency":"USD"}',
    });
    expect(render('esim_order')).toEqual({
      method: 'POST',
      path: '/esim/orders',
      body: '{"reference":"os-bbbb","plan":"fr-daily","quantity":1,"currency":"EUR","days":7}',
    });
    expect(render('esim_topup')).toEqual({
      method: 'POST',
      path: `/esim/esims/${iccid}/topups`,
      body: '{"reference":"os-cccc","plan":"fr-1gb","currency":"USD"}',
    });
    expect(render('esim_cancel')).toEqual({ method: 'POST', path: `/esim/esims/${iccid}/cancel`, body: '{}' });
  });

  it('has constants and other field names when the mapping defines them', () => {
    const { body } = render('gift_card_order', {
      gift_card_order: { fields: { variant: 'sku', currency: 'balance' }, extra: { channel: 'api', test: false } },
    });
    expect(body).toBe(
      '{"reference":"os-aaaa","sku":"steam-10","quantity":2,"balance":"USD","channel":"api","test":false}',
    );
    const byBody = { path: '/esim/cancellations', fields: { iccid: 'sim' } };
    expect(render('esim_cancel', { esim_cancel: byBody })).toEqual({
      method: 'POST',
      path: '/esim/cancellations',
      body: `{"sim":"${iccid}"}`,
    });
    expect(
      render('esim_cancel', { esim_cancel: { method: 'DELETE', path: '/esim/esims/{iccid}', body: 'none' } }),
    ).toEqual({
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
    expect(() => renderRequest({ ...facts.esim_cancel, iccid: '..' }, readWire(undefined))).toThrow(/cannot stand for/);
  });

  it('is not rendered when a needed field is missing', () => {
    for (const missing of ['variant', 'quantity', 'currency'] as const) {
      expect(() => renderRequest({ ...facts.gift_card_order, [missing]: null }, readWire(undefined))).toThrow(missing);
    }
    expect(() => renderRequest({ ...facts.esim_topup, iccid: null }, readWire(undefined))).toThrow('iccid');
    expect(() => renderRequest({ ...facts.esim_order, reference: '' }, readWire(undefined))).toThrow('reference');
  });
});
