import { type Answer, refusal, success } from './answers.ts';
import { type Call, found, type Progress } from '../orders/call.ts';
import { toDecimal } from '../account/money.ts';
import type { Family } from '../orders/operations.ts';
import { renderDestination, renderEsim, renderPlan, renderProduct } from './rendering.ts';
import { renderOrder } from '../orders/repeats.ts';
import type { Shelf } from '../orders/sandbox-state.ts';

type Reading = (call: Call, progress: Progress, shelf: Shelf) => Answer;

/** Spec 4, lookup rule 1: each family finds only its own orders, by number or by reference. */
function lookup(family: Family): Reading {
  return (call, progress, shelf) => {
    const account = found(progress.account, 'account').id;
    const numbered = shelf.orders.byNumber(account, call.subject);
    const order = numbered?.family === family ? numbered : shelf.orders.byReference(account, call.subject);
    if (order === undefined || order.family !== family) {
      return refusal(404, 'not_found', 'There is no order with that number or reference in this family.');
    }
    return success(200, renderOrder(order, shelf, call.arrivedAt), { orderNumber: order.number });
  };
}

const products: Reading = (call, _progress, shelf) => {
  const all = [...shelf.catalogue.products.values()];
  const page = pageNumber(call.query.get('page'), 1);
  const perPage = pageNumber(call.query.get('per_page'), shelf.settings.products_per_page || all.length || 1);
  if (page === null || perPage === null || perPage > 1_000) {
    return refusal(422, 'invalid_request', 'page and per_page must be whole numbers from 1; per_page at most 1000.');
  }
  const lastPage = Math.max(1, Math.ceil(all.length / perPage));
  const shown = all.slice((page - 1) * perPage, page * perPage);
  return success(200, {
    products: shown.map((product) => renderProduct(product, shelf.stock.available(product))),
    page,
    last_page: lastPage,
    total: all.length,
    next: page < lastPage ? `/products?page=${page + 1}&per_page=${perPage}` : null,
  });
};

function pageNumber(text: string | undefined, fallback: number): number | null {
  if (text === undefined) return fallback;
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : null;
}

const destinations: Reading = (_call, _progress, shelf) =>
  success(200, {
    destinations: [...shelf.catalogue.destinations.values()].map((place) =>
      renderDestination(place, place.plans.filter((plan) => shelf.isOnSale(plan)).length),
    ),
  });

const plans: Reading = (call, _progress, shelf) => {
  const place = shelf.catalogue.destinations.get(call.subject);
  if (place === undefined) return refusal(404, 'not_found', `There is no destination "${call.subject.slice(0, 80)}".`);
  return success(200, {
    destination: place.destination,
    plans: place.plans.filter((plan) => shelf.isOnSale(plan)).map(renderPlan),
  });
};

/** The eSIM endpoints that read: of an eSIM on the caller's account, and of no other. */
function ofEsim(
  render: (esim: NonNullable<ReturnType<Shelf['esims']['byIccid']>>, call: Call, shelf: Shelf) => object,
): Reading {
  return (call, progress, shelf) => {
    const esim = shelf.esims.byIccid(found(progress.account, 'account').id, call.subject);
    if (esim === undefined) return refusal(404, 'not_found', 'There is no eSIM with that ICCID on the account.');
    return success(200, render(esim, call, shelf));
  };
}

const balances: Reading = (_call, progress, shelf) =>
  success(200, {
    balances: shelf.accounts
      .balancesOf(found(progress.account, 'account').id)
      .map(({ currency, amount_minor: minor }) => ({ currency, amount: toDecimal(minor, currency) })),
  });

/** The operations that change nothing. */
export const readings = {
  gift_card_lookup: lookup('gift_card'),
  esim_order_lookup: lookup('esim'),
  products,
  destinations,
  plans,
  topups: ofEsim((esim, _call, shelf) => ({ iccid: esim.iccid, topups: shelf.topupsOf(esim).map(renderPlan) })),
  esim: ofEsim((esim, call) => renderEsim(esim, call.arrivedAt)),
  balances,
  unknown: () => refusal(404, 'not_found', 'There is no such operation. See /docs for those that exist.'),
} satisfies Record<string, Reading>;
