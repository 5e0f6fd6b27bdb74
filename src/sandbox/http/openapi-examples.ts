import type { Operation } from '../orders/operations.ts';

const time = '2026-11-21T12:00:00.000Z';
const esim = {
  iccid: '8999901000000000013',
  state: 'new',
  plan: 'es-5gb-30d',
  smdp_address: 'rsp.sandbox.example',
  matching_id: 'YQ8X2-GA726-F5FB6-YVXLK',
  lpa: 'LPA:1$rsp.sandbox.example$YQ8X2-GA726-F5FB6-YVXLK',
  installed: false,
  topped_up: false,
  created_at: time,
  expires_at: '2027-05-20T12:00:00.000Z',
};
const giftCardOrder = {
  number: 'GC-100001',
  reference: 'shop-1001-1',
  status: 'completed',
  currency: 'USD',
  total: '18.90',
  quantity: 1,
  created_at: time,
  variant: 'steam-usd-20',
  codes: [
    {
      code: '7WXE-FVML-D3C8-Y33N',
      serial: 'GC-100001-1',
      pin: '9502',
      url: 'https://redeem.sandbox.example/7WXE-FVML-D3C8-Y33N',
      expires_at: '2029-11-20T12:00:00.000Z',
    },
  ],
};
const esimOrder = {
  number: 'ES-100002',
  reference: 'shop-1001-2',
  status: 'completed',
  currency: 'EUR',
  total: '8.74',
  quantity: 1,
  created_at: time,
  plan: 'es-5gb-30d',
  esims: [esim],
};
const plan = {
  plan: 'es-1gb-7d',
  name: 'Spain 1 GB, 7 days',
  destination: 'spain',
  prices: { USD: '3.10', EUR: '2.85' },
  data_mb: 1024,
  unlimited: false,
  daily: false,
  validity_days: 7,
};

/** What a call and its answer look like. A test holds each against its schema. */
export const examples: Record<Exclude<Operation, 'unknown'>, { request?: object; answer: object }> = {
  gift_card_order: {
    request: { reference: 'shop-1001-1', variant: 'steam-usd-20', quantity: 1, currency: 'USD' },
    answer: giftCardOrder,
  },
  gift_card_lookup: { answer: giftCardOrder },
  products: {
    answer: {
      products: [
        {
          variant: 'steam-usd-20',
          name: 'Steam 20 USD',
          brand: 'Steam',
          category: 'gaming',
          prices: { USD: '18.90', EUR: '17.39' },
          stock: 100_000,
          max_quantity: 50,
          website_only: false,
          api_sellable: true,
        },
      ],
      page: 1,
      last_page: 1,
      total: 1,
      next: null,
    },
  },
  esim_order: {
    request: { reference: 'shop-1001-2', plan: 'es-5gb-30d', quantity: 1, currency: 'EUR' },
    answer: esimOrder,
  },
  esim_order_lookup: { answer: esimOrder },
  destinations: { answer: { destinations: [{ destination: 'spain', name: 'Spain', countries: ['ES'], plans: 5 }] } },
  plans: { answer: { destination: 'spain', plans: [plan] } },
  esim: { answer: esim },
  topups: { answer: { iccid: esim.iccid, topups: [plan] } },
  esim_topup: {
    request: { reference: 'shop-1001-3', plan: 'es-1gb-7d', currency: 'USD' },
    answer: {
      ...esimOrder,
      number: 'TU-100003',
      reference: 'shop-1001-3',
      plan: 'es-1gb-7d',
      currency: 'USD',
      total: '3.10',
      iccid: esim.iccid,
      esims: [{ ...esim, state: 'topped_up', topped_up: true }],
    },
  },
  esim_cancel: {
    request: {},
    answer: {
      ...esim,
      state: 'cancelled',
      number: 'ES-100002',
      status: 'refunded',
      currency: 'EUR',
      refund: { amount: '8.74', currency: 'EUR' },
    },
  },
  balances: {
    answer: {
      balances: [
        { currency: 'EUR', amount: '99991.26' },
        { currency: 'USD', amount: '99978.00' },
      ],
    },
  },
};
