import { z } from 'zod';
import { unitFieldNames } from '../../core/answers/unit-fields.ts';
import type { Operation } from '../../core/order/purchase.ts';
import { candidates, lists, words } from './wire-parts.ts';

/** A unit without one of these does not count as delivered. */
const required = z.array(z.enum(unitFieldNames));

/**
 * Refuses a name that is in two of these lists: it would be read as two things, or as the one that
 * is asked for first.
 */
const readsOnce =
  <T>(listsOf: (section: T) => Readonly<Record<string, readonly string[]>>) =>
  (section: T, context: z.core.$RefinementCtx): void => {
    const all = Object.entries(listsOf(section)).flatMap(([list, names]) =>
      names.map((name) => ({ list, name })),
    );
    for (const { list, name } of all) {
      const other = all.find(
        (one) => one.list > list && one.name.toLowerCase() === name.toLowerCase(),
      );
      if (other === undefined) continue;
      const message = `must not have "${name}" in \`${list}\` and in \`${other.list}\`: your list replaces the default, so write both lists`;
      context.addIssue({ code: 'custom', message });
    }
  };

/** Lists of what was ordered: their elements are no units, but each may have a list of units. */
const positions = candidates('items lines order_items line_items positions');
/** Fields of a unit that its owner does not need; any other field that is not read is reported. */
const ignored = words(
  'id uuid number name title description brand image product product_id variant sku plan package quantity ' +
    'value amount price cost face_value currency balance country reference order order_id order_number ' +
    'created_at createdAt updated_at updatedAt issued_at delivered_at activated_at installed_at installed ' +
    'topped_up is_installed data days validity',
);

const codes = z
  .strictObject({
    lists: lists('codes keys cards vouchers units'),
    positions,
    /** A serial number is no code: it cannot be redeemed. */
    code: candidates('code key card_number cardNumber epin'),
    pin: candidates('pin pin_code pinCode'),
    serial: candidates('serial serial_number serialNumber'),
    url: candidates('url link redemption_url redemptionUrl claim_url'),
    expires_at: candidates('expires_at expiresAt expiration_date expirationDate'),
    type: candidates('type codeType code_type'),
    status: candidates('status state'),
    /** Types of a code that is announced but not delivered yet. */
    undelivered_types: words('pre_order preorder pending'),
    required: required.default([]),
    ignored,
  })
  .superRefine(readsOnce(({ code, pin }) => ({ code, pin })));

const esims = z.strictObject({
  lists: lists('esims sims profiles'),
  positions,
  /** Where a single eSIM may be, if there is no list. */
  single: candidates('esim sim $'),
  iccid: candidates('iccid ICCID iccId'),
  /** Used only in the form of an activation code: one supplier's `lpa` is a host name. */
  lpa: candidates('lpa activation_code activationCode qr qrcode qr_code qrCode ac lpaString'),
  smdp_address: candidates('smdp_address smdpAddress smdp lpa'),
  matching_id: candidates('matching_id matchingId'),
  confirmation_code: candidates('confirmation_code confirmationCode'),
  qr_url: candidates('qr_url qrcode_url qrCodeUrl qr_code_url qrcode qr_code qrCode qr'),
  apple_install_url: candidates(
    'apple_install_url direct_apple_installation_url directAppleInstallUrl directAppleInstallationUrl',
  ),
  expires_at: candidates('expires_at expiresAt'),
  status: candidates('status state'),
  /**
   * Asked of the units of an eSIM order; the answer to a top-up or a cancel may only name its eSIM.
   */
  required: required.default(['iccid', 'lpa']),
  ignored,
});

const minorDigits = z.int().min(0).max(12);

const statusWords = z
  .strictObject({
    /** The only word that the specification gives (Spec 3). */
    refunded: words('refunded'),
    failed: words('failed cancelled canceled rejected error'),
    done: words(
      'completed complete delivered done fulfilled successful success issued active ready',
    ),
    pending: words(
      'pending processing in_progress queued accepted authorized created paid pending_details',
    ),
  })
  .superRefine(readsOnce((classes) => classes));

/** The last name of a path: `price` of `lines[].price`. */
const nameOf = (path: string): string => path.replaceAll('[]', '').split('.').at(-1) ?? path;

/** Where a success answer keeps its values (Spec 4: response payloads are not shown). */
export const answerWire = z
  .strictObject({
    /** Where the order itself may be; `$` is the whole answer. */
    envelopes: candidates('$ data order data.order result result.order'),
    number: candidates('number order_number orderNumber order_no orderNo order_id orderId id'),
    reference: candidates('reference client_reference external_id'),
    status: candidates('status state'),
    cost: candidates('total cost amount price charged total.amount cost.amount price.amount'),
    currency: candidates(
      'currency balance currency_code total.currency cost.currency price.currency',
    ),
    /** What is left of the charged balance. */
    balance_left: candidates('').default([]),
    /** What came back, in the answer to a cancel. */
    refund: candidates('refund refund_amount refunded_amount refund.amount'),
    /**
     * How many of an amount's digits are decimals: 0 where 12.5 is written 12.5, 2 where it is
     * written 1250; or by currency.
     */
    money_minor_digits: z
      .union(
        [
          minorDigits,
          z.record(
            z.string().regex(/^([A-Z]{3}|other)$/, 'must be a currency or `other`'),
            minorDigits,
          ),
        ],
        'must be a number of digits, or a map such as { USD: 2, JPY: 0 }',
      )
      .default(0),
    status_words: statusWords.prefault({}),
    codes: codes.prefault({}),
    esims: esims.prefault({}),
  })
  .superRefine(
    readsOnce(({ number, reference, status, cost, currency }) => ({
      number,
      reference,
      status,
      cost,
      currency,
    })),
  )
  .superRefine((section, context) => {
    const money = new Set([...section.cost, ...section.currency].map(nameOf));
    const listed = [...section.codes.lists, ...section.esims.lists];
    for (const path of listed.filter((one) => money.has(nameOf(one)))) {
      const message = `must not have "${path}" in a list of units: \`cost\` or \`currency\` has this path, and an amount would be delivered as a code`;
      context.addIssue({ code: 'custom', message });
    }
  });
export type AnswerWire = z.output<typeof answerWire>;

/** The mapping of an answer to this operation; of null, an order of another one. */
export function answerWireFor(wire: AnswerWire, operation: Operation | null): AnswerWire {
  return operation === 'esim_order' ? wire : { ...wire, esims: { ...wire.esims, required: [] } };
}
