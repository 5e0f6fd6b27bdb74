/**
 * Every sentence of the specification that states a rule, its section, and the tests that check it
 * over HTTP. Sentences that only say "not shown" state no rule; docs/spec-gaps.md is about them.
 * The website is not played: how keys are made there, and orders that are placed there.
 */
export type SpecRule = { place: string; rule: string; tests: string[] };

const errorRow =
  'a call gets ${row} on ${family} endpoints and charges nothing (case ${index + 1})';
const everyRow = 'every row of the table has a case here in each of its families';
const bothFamilies =
  'one API key works for both families, and an eSIM order delivers as many eSIMs as were ordered';
const exactCharge = 'a gift card order delivers its codes and charges the named balance exactly';
const properties =
  'money, references, refunds and stock stay correct, and an error charges nothing';
const lookups = 'an order is found by number and by reference, under its own family only';
const otherAccount = 'an account sees nothing of another account';
const twice = 'an eSIM is cancelled and refunded once, and a second cancel is 409 not_cancellable';
const replay =
  'a repeat in the same family gets the same answer as long as nothing has changed, and buys nothing';
const crossFamily = 'the other family gets 409 reference_in_use and charges nothing';
const operatorRefund =
  'an order that the operator refunds is a success, and the money is back in the balance';
const keyOnlySpends = 'a key can neither add balance nor change the account';
const cancelStates = 'an eSIM that was installed or topped up or has expired cannot be cancelled';
const unchecked =
  'an eSIM cannot be cancelled while its state cannot be checked, and can be cancelled afterwards';
const together =
  '20 orders of both families, top-ups and cancels together are let in within a minute';
const sixty =
  '60 requests are let in within any minute, and the next one gets 429 with Retry-After';
const perKey = 'each key has limits of its own';
const topupList =
  'an eSIM has a list of top-up plans, and a top-up with one of them extends an installed eSIM';
const offSale =
  'a plan that goes off sale leaves the lists and can no longer be ordered or used as a top-up';
const plansList =
  'the catalogue lists the destinations and their plans on sale, with a price per currency and the range of days';
const productsList =
  'the catalogue lists every product with its prices, its stock, and whether it is sold by API';
const cover =
  'an order is refused when the named balance is one cent short, whatever the other balances are';
const bearer = 'every operation and every unknown path needs the bearer key';
const wrongKey = 'a missing key, a wrong key and a key in another form are 401 invalid_key';
const fingerprint =
  'only the fingerprint of a key is stored: the database file does not contain the key';
const fiveKeys =
  'an account has at most five live keys, and a revoked key stops working at once and frees its place';
const allowlist =
  'a key has an allowlist of up to 10 IPv4 or IPv6 addresses, and with an empty one it works from any address';
const shutOut =
  'a blocked account and one that is no longer wholesale are refused until that changes';
const serversOnly =
  'no answer allows a web page of another site to read it, because the API is for servers only';
const json = 'every answer is JSON, and a body that is not JSON is 422 invalid_request';
const errorShape =
  'an error body has exactly a code and a message in both families, and a success has no error';
const faultTable =
  'the first order of ${item} ${bought ? "is bought" : "buys nothing"}, and the retry gets the order';
const unchanged = 'an unchanged repeat of a refused call gets the same answer';
const esimLife =
  'an installed eSIM expires after the days of its plan, and another one when the time to install it is over';
const malformed =
  'a quantity or days that is no whole number, and an unknown field, is 422 invalid_request';
const allCancelled =
  'an order whose eSIMs are all cancelled has the status refunded, which is a success';

function section(place: string, rules: Array<[rule: string, ...tests: string[]]>): SpecRule[] {
  return rules.map(([rule, ...tests]) => ({ place, rule, tests }));
}

export const specRules: SpecRule[] = [
  ...section('Spec 1', [
    ['The service lets a wholesale account buy products by API.', exactCharge, shutOut],
    [
      'Gift cards & software: endpoints without a prefix, such as `/orders` and `/products`.',
      exactCharge,
      productsList,
    ],
    ['eSIMs: endpoints under `/esim/...`.', bothFamilies],
    ['Requests and responses are JSON over HTTPS.', json],
    ['One API key works for both families.', bothFamilies],
    ["An order spends money from one of the account's balances.", exactCharge],
    [
      'The balance is named per request, and balances are held per currency (the currency of a balance appears in the messages, for example "USD").',
      cover,
      'the message of a refused order names the currency of the balance',
    ],
    [
      'Placing an order, topping up an eSIM and cancelling an eSIM spend or refund money.',
      exactCharge,
      topupList,
      twice,
    ],
    ['When any error is returned, nothing was charged.', errorRow, properties],
    ['A reference identifies one order, whatever it bought.', replay, crossFamily],
    ['A reference is unique across both families for one account.', crossFamily, otherAccount],
    ['An order can have the status `refunded`.', operatorRefund, allCancelled],
    ['Such a response is a success; the money is back in the balance.', operatorRefund],
    ['Products that are sold only on the website cannot be ordered by API.', errorRow],
    ["An API key can spend the account's balance.", exactCharge],
    ['It cannot add balance or change the account.', keyOnlySpends],
  ]),
  ...section('Spec 2, gift card / software order', [
    ['Identified by order number; client-supplied reference.', lookups],
    ['Found only under `/orders`.', lookups],
    ['Has a `quantity`.', exactCharge],
    ['Has a `status` (the value `refunded` exists).', operatorRefund],
  ]),
  ...section('Spec 2, eSIM order', [
    ['Identified by order number; client-supplied reference.', lookups],
    ['Found only under `/esim/orders`.', lookups],
    ['`quantity` is an integer 1 to 30.', bothFamilies, errorRow, malformed],
    [
      "`days` is required for a daily plan and must lie in that plan's range.",
      'a daily plan is charged by the day',
      errorRow,
    ],
  ]),
  ...section('Spec 2, eSIM', [
    [
      'Identified by ICCID.',
      'a new eSIM has an ICCID with a valid check digit, and the LPA text of its SM-DP+ address and matching id',
    ],
    ["Must belong to the caller's account.", otherAccount],
    ['Has a list of top-up plans.', topupList],
    ['Can be installed, topped up, cancelled or expired.', cancelStates, twice, esimLife],
  ]),
  ...section('Spec 2, product', [
    ['Identified by variant.', productsList],
    ['Listed in the API catalogue (`/products`).', productsList],
    ['Can be website-only (not API-sellable).', productsList],
  ]),
  ...section('Spec 2, destination', [
    ['Identified by destination.', plansList],
    ['Has plans.', plansList],
    ['Plans can go off sale.', offSale],
  ]),
  ...section('Spec 2, plan', [
    ['Identified by plan.', plansList],
    ['Has a price per currency.', plansList],
    ['Can be a daily plan (needs `days`).', plansList, errorRow],
    ['Listed in the API catalogue.', plansList],
  ]),
  ...section('Spec 2, balance', [
    ['Named per order.', cover],
    ['Must cover the order cost.', cover],
  ]),
  ...section('Spec 2, API key', [
    ['Fingerprint held by the service.', fingerprint],
    ['Sent as a bearer token.', bearer, wrongKey],
  ]),
  ...section('Spec 3', [
    [
      'An eSIM can be cancelled only if it was not installed, not topped up and not already cancelled, and its state can be checked at that moment.',
      cancelStates,
      twice,
      unchecked,
    ],
    ['An eSIM is refunded once.', twice, 'twenty cancels at once refund an eSIM once', properties],
    [
      "A top-up is accepted only for a plan in the eSIM's top-up list and only if the eSIM is neither cancelled nor expired.",
      topupList,
      offSale,
      errorRow,
    ],
  ]),
  ...section('Spec 4', [
    ['All endpoints require the bearer key (section 5).', bearer],
    [
      'Errors follow section 7.',
      errorShape,
      '${runs} junk requests get rows of the error table, never a 500, and change nothing',
    ],
    [
      'POST `/orders`: place a gift card / software order. Carries a reference, a quantity and the balance to charge. Counts toward the order limit.',
      exactCharge,
      together,
    ],
    [
      'POST `/esim/orders`: place an eSIM order. Carries a reference, a plan, a quantity (1 to 30) and `days` for daily plans. Counts toward the order limit.',
      bothFamilies,
      'a daily plan is charged by the day',
      together,
    ],
    [
      'GET `/esim/esims/{iccid}/topups`: list the top-up plans of the eSIM with that ICCID. Does not count toward the order limit.',
      topupList,
      together,
    ],
    [
      '`/products`: gift card / software API catalogue. Does not count toward the order limit.',
      productsList,
      together,
    ],
    [
      'eSIM top-up purchase (carries a reference; counts toward the order limit).',
      replay,
      together,
    ],
    ['eSIM cancel (carries no reference; counts toward the order limit).', malformed, together],
    ['eSIM destination and plan catalogue.', plansList],
    ['Lookup of an order by number or reference in each family.', lookups],
    [
      'Bodies are JSON; a success response has no `error` object; an error response has the body described in section 7.',
      json,
      errorShape,
    ],
  ]),
  ...section('Spec 4, lookup rule 1', [
    [
      'A gift card order is found only under `/orders`; an eSIM order only under `/esim/orders`.',
      lookups,
    ],
    ['Asking the wrong family gives `not_found`.', lookups],
  ]),
  ...section('Spec 4, lookup rule 2', [
    [
      "On eSIM endpoints, an unknown destination or an ICCID not on the caller's account gives `not_found`.",
      otherAccount,
      errorRow,
    ],
  ]),
  ...section('Spec 5', [
    ['Every request carries the header `Authorization: Bearer <API_KEY>`.', bearer],
    ['Missing, wrong or revoked key: HTTP 401, code `invalid_key`.', wrongKey, fiveKeys],
    [
      'Only a fingerprint is kept, so a lost key cannot be shown again; a new key is created.',
      fingerprint,
    ],
    ['An account holds at most 5 live keys.', fiveKeys],
    ['Any key can be revoked at any time; a revoked key stops working at once.', fiveKeys],
    ['Optional IP allowlist per key: up to 10 addresses, IPv4 or IPv6.', allowlist],
    ['A request from another address gets HTTP 403, code `ip_not_allowed`.', allowlist],
    ['With an empty list the key works from any address.', allowlist],
    [
      'A non-wholesale (any more) or blocked account gets HTTP 403, code `account_not_allowed`.',
      shutOut,
    ],
    [
      'The key is to be used from servers only, never in mobile apps, web pages or public repositories.',
      serversOnly,
    ],
    ['If a key may have leaked, it is revoked first and then replaced.', fiveKeys],
    ['The key cannot add balance or change the account.', keyOnlySpends],
  ]),
  ...section('Spec 7', [
    [
      'An error response has an HTTP status and a JSON body of the shape `{"error": {"code": <string>, "message": <string>}}`.',
      errorShape,
    ],
    ['`code` is stable and meant for programs; `message` is meant for a person.', errorRow],
    ['The shape is the same in both families.', errorShape],
    [
      "A response without the `error` object is a success, also when the order's status is `refunded`.",
      errorShape,
      operatorRefund,
    ],
    [
      'The family column gives where a code can occur: Both, Gift cards (only the gift card & software endpoints), eSIMs (only `/esim/...`).',
      everyRow,
    ],
  ]),
  ...section('Spec 7, table', [
    ['401 `invalid_key`: Missing, wrong or revoked key.', errorRow, wrongKey],
    [
      '403 `account_not_allowed`: Account is not wholesale (any more) or is blocked.',
      errorRow,
      shutOut,
    ],
    ['403 `ip_not_allowed`: Key is restricted to other IP addresses.', errorRow, allowlist],
    [
      '404 `not_found`: No order with that number or reference in this family. On eSIM endpoints also: no such destination, or no eSIM with that ICCID on the account.',
      errorRow,
      lookups,
    ],
    ['402 `insufficient_balance`: The named balance does not cover the order.', errorRow, cover],
    [
      "409 `reference_in_use`: The reference already belongs to one of the caller's orders in the other family.",
      errorRow,
      crossFamily,
    ],
    ['422 `currency_unavailable`: The product or plan has no price in that currency.', errorRow],
    ['422 `invalid_request`: A field is missing or malformed.', errorRow, malformed],
    ['422 `order_refused`: The order could not be placed.', errorRow],
    ['429 (no code given): Rate limit reached.', errorRow, sixty],
    [
      '503 `api_disabled`: API switched off for maintenance.',
      errorRow,
      'during maintenance every call is 503 api_disabled, and the same call works afterwards',
    ],
    ['404 `invalid_variant`: No such product in the API catalogue.', errorRow],
    ['409 `out_of_stock`: Fewer than `quantity` are available.', errorRow],
    ['422 `limit_exceeded`: Quantity above the per-order limit.', errorRow],
    ['422 `not_api_sellable`: A website-only product.', errorRow],
    ['404 `invalid_plan`: No such plan in the API catalogue.', errorRow],
    [
      '422 `invalid_plan`: The plan cannot be ordered as asked: it went off sale, `quantity` is not 1 to 30, or `days` is missing or outside the range of a daily plan.',
      errorRow,
      offSale,
    ],
    [
      "422 `topup_not_allowed`: The plan is not one of the eSIM's top-up plans, or the eSIM is cancelled or expired.",
      errorRow,
      offSale,
    ],
    [
      '409 `not_cancellable`: The eSIM was installed, topped up or already cancelled, or its state could not be checked at that moment.',
      errorRow,
      cancelStates,
      unchecked,
      twice,
    ],
    ['Only the "could not check" case is worth a retry, after about a minute.', unchecked],
  ]),
  ...section('Spec 7, retry rule 1', [
    ['Timeouts, dropped connections, HTTP 429 and 5xx: retry.', faultTable],
    [
      'For calls that buy something (`POST /orders`, `POST /esim/orders`, an eSIM top-up) the same reference is kept in the retry.',
      faultTable,
      replay,
    ],
  ]),
  ...section('Spec 7, retry rule 2', [
    [
      'A 4xx with an error code: an unchanged retry gives the same answer; the cause is fixed first.',
      unchanged,
    ],
  ]),
  ...section('Spec 7, retry rule 3', [
    ['An eSIM cancel carries no reference.', malformed],
    ['A second cancel of the same eSIM answers 409 `not_cancellable`.', twice],
  ]),
  ...section('Spec 8', [
    ['60 requests per minute, per API key: HTTP 429; wait and retry.', sixty, perKey],
    ['20 orders per minute, per API key: HTTP 429; wait and retry.', together, perKey],
    ['5 live keys per account.', fiveKeys],
    ['10 addresses in an allowlist per key.', allowlist],
    ['eSIM order quantity 1 to 30 per eSIM order: 422 `invalid_plan`.', errorRow],
    ['Gift card quantity per order: 422 `limit_exceeded`.', errorRow],
    [
      'The order limit counts together every call that spends or refunds money: `POST /orders`, `POST /esim/orders`, eSIM top-ups and eSIM cancels.',
      together,
    ],
  ]),
];
