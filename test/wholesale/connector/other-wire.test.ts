import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished, expect, it } from 'vitest';
import { wireSchema } from '../../../src/wholesale/connector/wire.ts';
import { clientOf, facts, iccid, keyValue, submit } from '../api-calls.ts';

/**
 * An API that follows the specification, and differs from the default mapping in everything else.
 */
const otherWire = wireSchema.parse({
  gift_card_order: {
    body: {
      reference: '{reference}',
      sku: '{variant}',
      quantity: '{quantity}',
      wallet: '{currency}',
      delivery: 'api',
    },
  },
  esim_order: {
    body: {
      reference: '{reference}',
      bundle: '{plan}',
      quantity: '{quantity}',
      wallet: '{currency}',
      days: '{days}',
    },
  },
  esim_topup: {
    method: 'PUT',
    path: '/esim/refills',
    body: { reference: '{reference}', sim: '{iccid}', bundle: '{plan}', wallet: '{currency}' },
  },
  esim_cancel: { method: 'DELETE', path: '/esim/esims/{iccid}', body: 'none' },
  lookup: {
    gift_card: { path: '/orders?ref={key}' },
    esim: { path: '/esim/orders/by-reference/{key}' },
  },
  answer: {
    envelopes: ['purchase', '$'],
    number: ['purchaseNo'],
    reference: ['yourRef'],
    status: ['phase'],
    cost: ['charge.minor'],
    currency: ['charge.wallet'],
    money_minor_digits: 2,
    status_words: { refunded: ['refunded', 'money_back'], pending: ['brewing'] },
    codes: { lists: ['goods'], code: ['secret'], pin: ['unlock'] },
    esims: {
      lists: ['goods'],
      iccid: ['sim'],
      smdp_address: ['host'],
      matching_id: ['token'],
      status: ['life'],
    },
  },
  catalogue: {
    products: { method: 'POST' },
    destinations: { path: '/esim/places' },
    plans: { path: '/esim/bundles?place={destination}' },
    lists: ['rows'],
    key: ['sku', 'bundle', 'place'],
    prices: ['tariff'],
  },
});

async function otherApi() {
  const calls: string[] = [];
  const answers: Record<string, unknown> = {
    'POST /orders': {
      purchase: {
        purchaseNo: 77,
        yourRef: 'os-aaaa',
        phase: 'served',
        charge: { minor: 1890, wallet: 'USD' },
        goods: [
          { secret: 'A', unlock: 1 },
          { secret: 'B', unlock: 2 },
        ],
      },
    },
    'POST /esim/orders': {
      purchase: { purchaseNo: 78, yourRef: 'os-bbbb', phase: 'brewing', goods: [] },
    },
    'PUT /esim/refills': { purchase: { purchaseNo: 79, yourRef: 'os-cccc', phase: 'served' } },
    [`DELETE /esim/esims/${iccid}`]: { purchase: { purchaseNo: 78, phase: 'money_back' } },
    'GET /orders?ref=os-aaaa': [
      { yourRef: 'os-aaaa', purchaseNo: 77, phase: 'served', goods: [{ secret: 'A' }] },
    ],
    'GET /esim/orders/by-reference/os-bbbb': {
      purchase: {
        yourRef: 'os-bbbb',
        phase: 'served',
        goods: [{ sim: iccid, host: 'h.example', token: 'T', life: 'fresh' }],
      },
    },
    'POST /products': { rows: [{ sku: 'steam-10', tariff: { USD: 945 } }] },
    'GET /esim/places': { rows: ['france', 'spain'] },
    'GET /esim/bundles?place=france': { rows: [{ bundle: 'fr-1gb', tariff: { EUR: 450 } }] },
  };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => {
      body += part.toString();
    });
    request.on('end', () => {
      const call = `${request.method} ${request.url}`;
      calls.push(body === '' ? call : `${call} ${body}`);
      const answer = answers[call] ?? { error: { code: 'not_found', message: `no ${call}` } };
      response.writeHead(answers[call] === undefined ? 404 : 200, {
        'content-type': 'application/json',
      });
      response.end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address: string | AddressInfo | null = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const client = clientOf(`http://127.0.0.1:${port}`, { wire: otherWire });
  onTestFinished(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
  });
  return { client, calls };
}

it('a mapping alone is enough for an API that differs in everything that the specification does not show', async () => {
  const { client, calls } = await otherApi();
  expect(await submit(client, 'gift_card_order')).toMatchObject({
    row: 'accepted',
    answer: {
      orderNumber: '77',
      cost: '18.90',
      currency: 'USD',
      units: [
        { code: 'A', pin: '1' },
        { code: 'B', pin: '2' },
      ],
    },
  });
  expect(await submit(client, 'esim_order')).toMatchObject({
    row: 'accepted',
    answer: { statusClass: 'pending', units: [] },
  });
  expect(await submit(client, 'esim_topup')).toMatchObject({
    row: 'accepted',
    answer: { orderNumber: '79' },
  });
  expect(await submit(client, 'esim_cancel')).toMatchObject({
    row: 'accepted',
    answer: { statusClass: 'refunded' },
  });
  const gift = await client.lookUp({
    keyValue,
    family: 'gift_card',
    key: 'os-aaaa',
    expectReference: 'os-aaaa',
  });
  expect(gift).toMatchObject({
    kind: 'found',
    answer: { orderNumber: '77', units: [{ code: 'A' }] },
  });
  const esim = await client.lookUp({
    keyValue,
    family: 'esim',
    key: 'os-bbbb',
    expectReference: 'os-bbbb',
  });
  expect(esim).toMatchObject({
    kind: 'found',
    answer: { units: [{ iccid, lpa: 'LPA:1$h.example$T', status: 'fresh' }] },
  });
  expect(
    await client.lookUp({ keyValue, family: 'esim', key: 'os-x', expectReference: 'os-x' }),
  ).toMatchObject({
    kind: 'absent',
  });
  expect(await client.products().read({ keyValue })).toMatchObject({
    items: [{ variant: 'steam-10', currencies: ['USD'] }],
  });
  expect(await client.destinations().read({ keyValue })).toMatchObject({
    items: [{ destination: 'france' }, { destination: 'spain' }],
  });
  expect(await client.plans('france').read({ keyValue })).toMatchObject({
    items: [{ plan: 'fr-1gb', currencies: ['EUR'] }],
  });
  expect(calls.slice(0, 4)).toEqual([
    'POST /orders {"reference":"os-aaaa","sku":"steam-10","quantity":2,"wallet":"USD","delivery":"api"}',
    'POST /esim/orders {"reference":"os-bbbb","bundle":"fr-daily","quantity":1,"wallet":"EUR","days":7}',
    `PUT /esim/refills {"reference":"os-cccc","sim":"${iccid}","bundle":"fr-1gb","wallet":"USD"}`,
    `DELETE /esim/esims/${iccid}`,
  ]);
  expect(facts.esim_cancel.reference).toBe('os-dddd');
  expect(calls.join('\n')).not.toContain('os-dddd');
});
