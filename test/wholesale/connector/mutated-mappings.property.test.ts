import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { decideLookup } from '../../../src/buying/decision/decide-lookup.ts';
import { decideSubmission } from '../../../src/buying/decision/decide-submission.ts';
import type { Settlement } from '../../../src/buying/decision/settlement.ts';
import type { Unit } from '../../../src/core/answers/order-answer.ts';
import { familyOf } from '../../../src/core/order/purchase.ts';
import { createWholesaleClient, type WholesaleClient } from '../../../src/wholesale/client.ts';
import type { HttpPort } from '../../../src/wholesale/transport/transport.ts';
import { SeededRandom } from '../../simulation/seeded-random.ts';
import { facts, noJitter, now, outcomeUnknown, policy } from '../../support/facts.ts';
import { facts as purchases, keyValue } from '../api-calls.ts';

type Json = Record<string, unknown>;

/** An API, the mapping that fits it, and what it sells. */
interface Api {
  readonly mapping: string;
  /** The names of the product of each family in a request. */
  readonly product: Readonly<Record<'gift_card_order' | 'esim_order', string>>;
  readonly lookup: (reference: string) => string;
  readonly show: (order: Json, how: 'order' | 'lookup') => unknown;
  readonly card: (unit: Unit, index: number) => Json;
  readonly esim: (unit: Unit) => Json;
}

const cards: readonly Unit[] = [
  { code: 'CARD-7711-K7Q2', pin: '4711' },
  { code: 'CARD-7712-M3X9', pin: '4712' },
];
const [smdp, matching] = ['rsp.example.com', 'MTCH-9931-XZ'];
const esims: readonly Unit[] = [
  {
    iccid: '8944000000000099318',
    lpa: `LPA:1$${smdp}$${matching}`,
    smdp_address: smdp,
    matching_id: matching,
  },
];

const apis: Readonly<Record<string, Api>> = {
  'an order in attributes, with fields that nobody needs': {
    mapping: `
gift_card_order: { body: { reference: "{reference}", variant: "{variant}", quantity: "{quantity}", currency: "{currency}" } }
esim_order: { body: { reference: "{reference}", plan: "{plan}", quantity: "{quantity}", currency: "{currency}", days: "{days}" } }
headers: { API-Version: "2026-01" }
lookup: { gift_card: { path: "/orders/{key}" }, esim: { path: "/esim/orders/{key}" } }
answer:
  envelopes: [data.attributes, data]
  number: [id]
  reference: [reference]
  status: [status]
  cost: [total]
  currency: [currency]
  money_minor_digits: 0
  codes: { lists: [codes], code: [voucher_code], pin: [security_no], expires_at: [valid_until] }
  esims: { lists: [esims], iccid: [iccid], lpa: [activation.code], expires_at: [valid_until] }
ignored: [batch, plan_code]`,
    product: { gift_card_order: 'variant', esim_order: 'plan' },
    lookup: (reference) => `/orders/${reference}`,
    show: ({ number, ...order }) => ({
      data: { type: 'order', id: `N-${String(number)}`, attributes: { ...order, total: '18.90' } },
    }),
    card: ({ code, pin }, index) => {
      return {
        voucher_code: code,
        security_no: pin,
        batch: `B-22${index}`,
        valid_until: '2027-01-31',
      };
    },
    esim: ({ iccid, lpa }) => ({
      iccid,
      activation: { code: lpa },
      plan_code: 'FR-7',
      valid_until: '2027-01-31',
    }),
  },
  'an order of other names, with amounts in cents': {
    mapping: `
gift_card_order: { body: { reference: "{reference}", sku: "{variant}", quantity: "{quantity}", wallet: "{balance}" } }
esim_order: { body: { reference: "{reference}", bundle: "{plan}", quantity: "{quantity}", wallet: "{balance}", days: "{days}" } }
balances: { USD: bal_1, EUR: bal_2 }
lookup: { gift_card: { path: "/orders?reference={key}" }, esim: { path: "/esim/orders?reference={key}" } }
answer:
  envelopes: [data]
  number: [order_number]
  reference: [client_reference]
  status: [state]
  cost: [charge.minor]
  currency: [charge.currency]
  money_minor_digits: 2
  codes: { lists: [items], positions: [], code: [pin], pin: [security] }
  esims: { lists: [], single: [sim], iccid: [iccid], smdp_address: [smdp], matching_id: [matching] }`,
    product: { gift_card_order: 'sku', esim_order: 'bundle' },
    lookup: (reference) => `/orders?reference=${reference}`,
    show: (
      {
        number,
        reference,
        currency,
        codes,
        esims: [sim] = [],
        status,
      }: Json & { esims?: unknown[] },
      how,
    ) => {
      const order = {
        order_number: number,
        client_reference: reference,
        state: String(status).toUpperCase(),
        charge: { minor: 1890, currency },
        created: 1_790_000_077,
        ...(sim === undefined ? { items: codes } : { sim }),
      };
      return { data: how === 'lookup' ? [order] : order };
    },
    card: ({ code, pin }) => ({ pin: code, security: pin }),
    esim: ({ iccid }) => ({ iccid, smdp, matching }),
  },
};

type Place = readonly (string | number)[];

const isSection = (value: unknown): value is Json => typeof value === 'object' && value !== null;
const sectionOf = (value: unknown): Json => (isSection(value) ? value : {});

/** Every list, text and number of a mapping. */
function placesIn(tree: unknown, at: Place = []): readonly Place[] {
  return isSection(tree) && !Array.isArray(tree)
    ? Object.entries(tree).flatMap(([name, inner]) => placesIn(inner, [...at, name]))
    : [at];
}

/** Every name in an answer, alone and with those above it. */
function namesIn(value: unknown, above: readonly string[] = []): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const path = Array.isArray(value) ? above : [...above, name];
    return [...path.map((_, from) => path.slice(from).join('.')), ...namesIn(inner, path)];
  });
}

const swapped = (text: string, at: number): string =>
  text.slice(0, at) + (text[at + 1] ?? '') + (text[at] ?? '') + text.slice(at + 2);

const placeholders = [
  '{reference}',
  '{variant}',
  '{plan}',
  '{quantity}',
  '{days}',
  '{currency}',
  '{balance}',
  '{key}',
];

/** A mistake in a path, in a field of a request, in a header or in the id of a balance. */
function spoilText(owner: Json, name: string, text: string, random: SeededRandom): void {
  const mistake = random.pick('other', 'forgotten', 'misspelt', 'renamed', 'shortened', 'constant');
  if (mistake === 'forgotten' || mistake === 'renamed') delete owner[name];
  if (mistake === 'forgotten') return;
  const instead = {
    other: text.replace(/\{\w+\}|^\w+$/, () => random.pick('{number}', ...placeholders)),
    misspelt: swapped(text, random.int(0, text.length - 2)),
    renamed: text,
    shortened: text.slice(0, -1),
    constant: text.replaceAll(/[{}]/g, ''),
  }[mistake];
  owner[mistake === 'renamed' ? swapped(name, random.int(0, name.length - 2)) : name] = instead;
}

/** The mapping with one mistake that an operator makes. */
function mutated(mapping: Json, names: readonly [string, ...string[]], random: SeededRandom): Json {
  const tree = structuredClone(mapping);
  const places = placesIn(tree);
  const place = places[random.int(0, places.length - 1)] ?? [];
  const name = String(place.at(-1));
  let owner: Json = tree;
  for (const segment of place.slice(0, -1)) owner = sectionOf(owner[segment]);
  const before = owner[name];
  if (typeof before === 'string') {
    spoilText(owner, name, before, random);
    return tree;
  }
  if (!Array.isArray(before)) {
    owner[name] = before === 0 ? 2 : 0;
    return tree;
  }
  const paths: readonly string[] = before;
  const at = random.int(0, Math.max(0, paths.length - 1));
  const path = paths[at] ?? '';
  const mistake = random.pick('other', 'forgotten', 'misspelt', 'prefixed', 'shortened', 'emptied');
  if (mistake === 'forgotten') delete owner[name];
  else if (mistake === 'emptied') owner[name] = [];
  else {
    const instead = {
      other: random.pick(...names),
      misspelt: swapped(path, random.int(0, Math.max(0, path.length - 2))),
      prefixed: `data.${path}`,
      shortened: path.includes('.') ? path.slice(0, path.lastIndexOf('.')) : path.slice(0, -1),
    }[mistake];
    owner[name] = [...paths.slice(0, at), instead, ...paths.slice(at + 1)];
  }
  return tree;
}

const redeemed = [
  'code',
  'pin',
  'url',
  'iccid',
  'lpa',
  'smdp_address',
  'matching_id',
  'confirmation_code',
  'qr_url',
];
const asRedeemed = (units: readonly Unit[]) =>
  units.map((unit) =>
    redeemed.map((name) => Object.entries(unit).find(([field]) => field === name)?.[1] ?? null),
  );
const isTrue = (units: readonly Unit[], sold: readonly Unit[]): boolean =>
  JSON.stringify(asRedeemed(units)) === JSON.stringify(asRedeemed(sold));

const sold = { gift_card_order: cards, esim_order: esims } as const;

const errorAnswer = (http: number, code: string) => ({
  kind: 'answer' as const,
  http,
  headers: {},
  body: Buffer.from(JSON.stringify({ error: { code, message: 'refused' } })),
});

/**
 * The API as a network: it sells one order of each family, to who names product, quantity and
 * reference.
 */
function networkOf({ show, card, esim, product, lookup }: Api): HttpPort {
  const answerTo = async (path: string, how: 'order' | 'lookup') => {
    const isEsim = path.startsWith('/esim');
    const { reference, currency } = purchases[isEsim ? 'esim_order' : 'gift_card_order'];
    const units = isEsim ? { esims: esims.map(esim) } : { codes: cards.map(card) };
    const body = JSON.stringify(
      show({ number: 77, reference, status: 'completed', currency, ...units }, how),
    );
    return { kind: 'answer', http: 200, headers: {}, body: Buffer.from(body) } as const;
  };
  return {
    spend: ({ path, body }) => {
      const operation = path.startsWith('/esim') ? 'esim_order' : 'gift_card_order';
      const asked = sectionOf(JSON.parse(body ?? '{}'));
      const { reference, quantity, variant, plan } = purchases[operation];
      const wanted = { reference, quantity, [product[operation]]: variant ?? plan };
      const isRead = Object.entries(wanted).every(([name, value]) => asked[name] === value);
      return isRead
        ? answerTo(path, 'order')
        : Promise.resolve(errorAnswer(422, 'invalid_request'));
    },
    read: ({ path }) => {
      const isEsim = path.startsWith('/esim');
      const { reference } = purchases[isEsim ? 'esim_order' : 'gift_card_order'];
      const isThere = path === `${isEsim ? '/esim' : ''}${lookup(reference)}`;
      return isThere ? answerTo(path, 'lookup') : Promise.resolve(errorAnswer(404, 'not_found'));
    },
    close: async () => undefined,
  };
}

/**
 * How an order ends that is answered, and how one whose answer was lost and that a lookup finds.
 */
async function ends(
  client: WholesaleClient,
  operation: keyof typeof sold,
): Promise<readonly Settlement[]> {
  const ordered = purchases[operation];
  const { reference } = ordered;
  const call = {
    keyValue,
    family: familyOf(operation),
    key: reference,
    expectReference: reference,
  };
  const found = await client.lookUp({ ...call, ordered });
  const outcome = await client.submit({
    ...client.render(ordered),
    operation,
    keyValue,
    expect: ordered,
  });
  const lookUp = (changes: object) =>
    decideLookup({ ...facts(ordered), ...changes }, found, policy, now, noJitter);
  const answered = decideSubmission(
    { ...facts(ordered), state: 'sending' },
    outcome,
    policy,
    now,
    noJitter,
  );
  const { state, outcomeUnknown: isUnknown } = answered;
  const isOpen = state === 'placed' || state === 'unknown';
  return [isOpen ? lookUp({ state, outcomeUnknown: isUnknown }) : answered, lookUp(outcomeUnknown)];
}

const verdicts = [
  'right',
  'refused by the schema',
  'not sent',
  'not delivered',
  'another cost or number',
  'another code',
] as const;
type Verdict = (typeof verdicts)[number];

async function verdictOf(api: Api, wire: Json): Promise<Verdict> {
  let client: WholesaleClient;
  try {
    client = createWholesaleClient({
      baseUrl,
      wire,
      clock: { wallMs: () => now },
      network: networkOf(api),
    });
  } catch {
    return 'refused by the schema';
  }
  const ended = await Promise.all(
    (['gift_card_order', 'esim_order'] as const).map(async (operation) => {
      const all = await ends(client, operation).catch(() => null);
      if (all === null) return ['not sent' as const];
      return all.map(({ state, answer }): Verdict => {
        if (state !== 'fulfilled') return 'not delivered';
        if (!isTrue(answer?.units ?? [], sold[operation])) return 'another code';
        const isKnown =
          Number(answer?.cost) === 18.9 && answer?.orderNumber?.endsWith('77') === true;
        return isKnown ? 'right' : 'another cost or number';
      });
    }),
  );
  // The worst of them.
  return verdicts.findLast((verdict) => ended.flat().includes(verdict)) ?? 'right';
}

const baseUrl = 'http://127.0.0.1';
const runs = 1000;

/**
 * How often each verdict is reached by mappings with so many mistakes, and the first that deliver
 * another code.
 */
async function tally(api: Api, mistakes: number) {
  const random = new SeededRandom(mistakes);
  const orders = [{ codes: cards.map(api.card) }, { esims: esims.map(api.esim) }];
  const [first = 'id', ...names] = new Set(
    orders.flatMap((order) => namesIn(api.show(order, 'order'))),
  );
  const reached: Verdict[] = [];
  const wrong: Json[] = [];
  for (let index = 0; index < runs; index += 1) {
    let mapping: Json = parse(api.mapping);
    for (let made = 0; made < mistakes; made += 1)
      mapping = mutated(mapping, [first, ...names], random);
    const verdict = await verdictOf(api, mapping);
    reached.push(verdict);
    if (verdict === 'another code') wrong.push(mapping);
  }
  const counts = verdicts.map(
    (verdict) => [verdict, reached.filter((one) => one === verdict).length] as const,
  );
  return { counts: Object.fromEntries(counts), wrong };
}

describe('a mapping with mistakes', () => {
  it.each(Object.entries(apis))('is compared with a right one: %s', async (_name, api) => {
    expect(await verdictOf(api, parse(api.mapping))).toBe('right');
  });

  const cases = Object.entries(apis).flatMap(([name, api]) => [
    { name, api, mistakes: 1, most: 5 },
    { name, api, mistakes: 2, most: 10 },
  ]);
  // Two APIs: at most 10 of 2,000 mappings with one mistake, and 20 of 2,000 with two.
  it.for(cases)(
    `of ${runs} with $mistakes each, at most $most deliver anything but the true code: $name`,
    { timeout: 300_000 },
    async ({ api, mistakes, most }, { annotate }) => {
      const { counts, wrong } = await tally(api, mistakes);
      expect(wrong.length, JSON.stringify([counts, wrong.slice(0, 3)])).toBeLessThanOrEqual(most);
      // The mistakes are real ones, and not all of them are seen before an order is bought.
      expect(counts['not delivered'], JSON.stringify(counts)).toBeGreaterThan(runs / 5);
      await annotate(JSON.stringify(counts));
    },
  );
});
