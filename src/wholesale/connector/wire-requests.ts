import { z } from 'zod';
import { bodyTree, placeholdersIn } from './request-body.ts';
import { pathTemplate } from './wire-parts.ts';

const bought = ['reference', 'quantity', 'days', 'currency', 'balance'];

/** A body with these values, each in a field of its name. */
const named = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, `{${name}}`]));

/** Placing an order: method and path are given (Spec 4), and the names of reference, quantity and days (Spec 2). */
const order = (product: string, ...more: readonly string[]) =>
  z.strictObject({
    body: bodyTree([product, ...bought], ['reference', product, 'quantity', ...more]).default(
      named('reference', product, 'quantity', 'currency', ...more),
    ),
  });
export const giftCardOrder = order('variant');
export const esimOrder = order('plan', 'days');

const namesOne =
  (wanted: readonly string[]) =>
  ({ path, body }: { readonly path: string; readonly body?: unknown }): boolean =>
    wanted.some((name) => path.includes(`{${name}}`) || placeholdersIn(body).some((one) => one.name === name));
const namesTheEsim = [namesOne(['iccid']), 'must name the eSIM, with {iccid} in path or body'] as const;

export const esimTopup = z
  .strictObject({
    method: z.enum(['POST', 'PUT', 'PATCH']).default('POST'),
    path: pathTemplate('iccid').default('/esim/esims/{iccid}/topups'),
    body: bodyTree(['plan', 'iccid', ...bought], ['reference', 'plan']).default(
      named('reference', 'plan', 'currency', 'days'),
    ),
  })
  .refine(...namesTheEsim);

/** It carries no reference (Spec 7, retry rule 3). */
export const esimCancel = z
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
export const orderLookup = (path: string) =>
  z
    .union(
      [
        z.literal('off'),
        z
          .strictObject({
            ...readCall(['key']),
            path: z.union([z.literal('off'), pathTemplate('key')]),
            /** How an accepted order is read for its units, if not as above: by its number, or at another path. */
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
