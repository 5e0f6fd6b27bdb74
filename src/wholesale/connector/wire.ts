import { z } from 'zod';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { catalogueWire } from './wire-catalogue.ts';
import { answerWire } from './wire-answer.ts';
import { createHash } from 'node:crypto';
import { bodyTree, placeholdersIn } from './request-body.ts';
import { pathTemplate } from './wire-parts.ts';

const bought = ['reference', 'quantity', 'days', 'currency', 'balance'];

/** A body with these values, each in a field of its name. */
const named = (...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, `{${name}}`]));

/**
 * Placing an order: method and path are given (Spec 4), and the names of reference, quantity and
 * days (Spec 2).
 */
const order = (product: string, ...more: readonly string[]) =>
  z.strictObject({
    body: bodyTree([product, ...bought], ['reference', product, 'quantity', ...more]).default(
      named('reference', product, 'quantity', 'currency', ...more),
    ),
  });
const giftCardOrder = order('variant');
const esimOrder = order('plan', 'days');

const namesOne =
  (wanted: readonly string[]) =>
  ({ path, body }: { readonly path: string; readonly body?: unknown }): boolean =>
    wanted.some(
      (name) => path.includes(`{${name}}`) || placeholdersIn(body).some((one) => one.name === name),
    );
const namesTheEsim = [
  namesOne(['iccid']),
  'must name the eSIM, with {iccid} in path or body',
] as const;

const esimTopup = z
  .strictObject({
    method: z.enum(['POST', 'PUT', 'PATCH']).default('POST'),
    path: pathTemplate('iccid').default('/esim/esims/{iccid}/topups'),
    body: bodyTree(['plan', 'iccid', ...bought], ['reference', 'plan']).default(
      named('reference', 'plan', 'currency', 'days'),
    ),
  })
  .refine(...namesTheEsim);

/** It carries no reference (Spec 7, retry rule 3). */
const esimCancel = z
  .strictObject({
    method: z.enum(['POST', 'PUT', 'PATCH', 'DELETE']).default('POST'),
    path: pathTemplate('iccid').default('/esim/esims/{iccid}/cancel'),
    /** `none`: no body and no content type. */
    body: z.union([z.literal('none'), bodyTree(['iccid'], [])]).default({}),
  })
  .refine(...namesTheEsim);

const readCall = (placeholders: readonly string[]) => ({
  method: z.enum(['GET', 'POST']).default('GET'),
  path: pathTemplate(...placeholders),
  body: bodyTree(placeholders, []).optional(),
});
const readBy = (placeholders: readonly string[]) =>
  z
    .strictObject(readCall(placeholders))
    .refine(namesOne(placeholders), `must name the order, by {${placeholders.join('} or {')}}`);

/** How an order is read back; `off` where the API has no such call. */
const orderLookup = (path: string) =>
  z
    .union(
      [
        z.literal('off'),
        z
          .strictObject({
            ...readCall(['key']),
            path: z.union([z.literal('off'), pathTemplate('key')]),
            /**
             * How an accepted order is read for its units, if not as above: by its number, or at
             * another path.
             */
            accepted: z.union([z.literal('off'), readBy(['number', 'reference'])]).default('off'),
          })
          .refine(
            (call) => call.path === 'off' || namesOne(['key'])(call),
            'must name the order, with {key} in path or body',
          ),
      ],
      'must be `off`, or a map such as { path: "/orders/{key}" }',
    )
    .default({ method: 'GET', path, accepted: 'off' });

/** Not those that the transport sets. */
const headerName =
  /^(?!(authorization|proxy-.*|host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|cookie|accept-encoding|cache-control|pragma)$)[a-z][a-z0-9-]{0,63}$/i;

const headerValue = z
  .string()
  .regex(/^[!-~]([ -~]{0,254}[!-~])?$/, 'must be one line of ASCII')
  .regex(/^(\{reference\}|[^{}]*)$/, 'must be a fixed text, or only {reference}');

/** The fields of a found order that are compared with the purchase. */
const comparedFields = ['product', 'quantity', 'days', 'currency', 'iccid'] as const;
export type ComparedField = (typeof comparedFields)[number];

/** How one order is read back; `off` where the API has no such call. */
const lookup = z.strictObject({
  gift_card: orderLookup('/orders/{key}'),
  esim: orderLookup('/esim/orders/{key}'),
  /**
   * Omit a field where the API uses its name for something else, for example for the currency of a
   * gift card.
   */
  compare: z.array(z.enum(comparedFields)).default([...comparedFields]),
  /** `empty_list`: an empty list with status 200 says that there is no such order, too. */
  absent: z.enum(['not_found', 'empty_list']).default('not_found'),
});

/**
 * The wire mapping: everything that the specification marks "not shown". It has the methods, paths
 * and field names of requests, and the places where answers keep their values. A config overrides
 * parts of it under `wholesale.wire`: an omitted part keeps its default, and a list replaces the
 * default list. It leaves out the parts that the specification fixes: `reference`, `quantity`,
 * `days`, the given paths, the error body and its codes.
 */
export const wireSchema = z.strictObject({
  gift_card_order: giftCardOrder.prefault({}),
  esim_order: esimOrder.prefault({}),
  esim_topup: esimTopup.prefault({}),
  esim_cancel: esimCancel.prefault({}),
  /** The id of each balance, for {balance} in a body. */
  balances: z
    .record(z.string().regex(/^[A-Z]{3}$/, 'must be a currency'), z.string().min(1).max(128))
    .default({}),
  /** Further headers of every call: constants, and `{reference}` for a call that has one. */
  headers: z
    .record(
      z.string().regex(headerName, 'must be a header that the worker does not set itself'),
      headerValue,
    )
    .default({}),
  lookup: lookup.prefault({}),
  answer: answerWire.prefault({}),
  catalogue: catalogueWire.prefault({}),
  /**
   * Fields of units that nobody needs, beside those that `answer` ignores: without them an order
   * counts as read.
   */
  ignored: z.array(z.string().min(1).max(64)).max(100).default([]),
});

export type Wire = z.output<typeof wireSchema>;
/** Any part of the mapping, as a config gives it. */
export type WireOverrides = z.input<typeof wireSchema>;

/** For one mapping, to compile a parser takes longer than to read without one. */
const readOnce = { jitless: true } as const;

let defaultWire: Wire | undefined;

function withIgnored(wire: Wire): Wire {
  const { codes, esims } = wire.answer;
  const add = (names: readonly string[]): string[] => [...new Set([...names, ...wire.ignored])];
  const lists = {
    codes: { ...codes, ignored: add(codes.ignored) },
    esims: { ...esims, ignored: add(esims.ignored) },
  };
  return { ...wire, answer: { ...wire.answer, ...lists } };
}

/**
 * Reads `wholesale.wire` of a config; omitted parts get their defaults.
 * @throws OrderSyncError CONFIG_INVALID, naming every wrong place
 */
export function readWire(value: unknown): Wire {
  if (value === undefined || value === null)
    return (defaultWire ??= wireSchema.parse({}, readOnce));
  const parsed = wireSchema.safeParse(value, readOnce);
  if (parsed.success) return withIgnored(parsed.data);
  const hint = 'run `order-sync check-config`, which says where';
  throw new OrderSyncError('CONFIG_INVALID', `wholesale.wire: ${z.prettifyError(parsed.error)}`, {
    hint,
  });
}

/**
 * Identifies a mapping: 16 hex characters. The order in which its keys were written does not count;
 * the order of a list does, because the first candidate wins.
 */
export function connectorHash(wire: Wire): string {
  const text = JSON.stringify(wire, (_key, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
