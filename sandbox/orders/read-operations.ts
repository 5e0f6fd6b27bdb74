import { toDecimal } from '../values/money.ts';
import type { Esim } from './units.ts';
import type { Family } from '../values/operations.ts';
import { type SandboxState, topupPlans } from './sandbox-state.ts';
import { type Answer, type Call, type Progress, refusal, required } from './call.ts';
import { renderEsim, renderOrder, renderPlan, renderProduct } from './rendering.ts';

type ReadOperation = (call: Call, progress: Progress, state: SandboxState) => Answer;

/** Spec 4, lookup rule 1: each family finds only its own orders, by number or by reference. */
function lookup(family: Family): ReadOperation {
  return (call, progress, state) => {
    const account = required(progress.account, 'account').id;
    const found = [
      state.orders.find(call.subject),
      state.orders.byReference(account, call.subject),
    ];
    const order = found.find(
      (candidate) => candidate?.account === account && candidate.family === family,
    );
    if (order === undefined) {
      return refusal(
        404,
        'not_found',
        'There is no order with that number or reference in this family.',
      );
    }
    return {
      status: 200,
      body: renderOrder(order, state, call.arrivedAt),
      orderNumber: order.number,
    };
  };
}

const products: ReadOperation = (call, _progress, state) => {
  const all = [...state.catalogue.products.values()];
  const page = pageNumber(call.query.get('page'), 1);
  const perPage = pageNumber(
    call.query.get('per_page'),
    state.settings.products_per_page || all.length || 1,
  );
  if (page === null || perPage === null || perPage > 1_000) {
    return refusal(
      422,
      'invalid_request',
      'page and per_page must be whole numbers from 1; per_page at most 1000.',
    );
  }
  const lastPage = Math.max(1, Math.ceil(all.length / perPage));
  const shown = all.slice((page - 1) * perPage, page * perPage);
  const body = {
    products: shown.map((product) => renderProduct(product, state.stock.available(product))),
    page,
    last_page: lastPage,
    total: all.length,
    next: page < lastPage ? `/products?page=${page + 1}&per_page=${perPage}` : null,
  };
  return { status: 200, body };
};

function pageNumber(text: string | undefined, fallback: number): number | null {
  if (text === undefined) return fallback;
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : null;
}

const destinations: ReadOperation = (_call, _progress, { catalogue, stock }) => {
  const shown = [...catalogue.destinations.values()].map((place) => ({
    ...place,
    plans: place.plans.filter((plan) => stock.isOnSale(plan)).length,
  }));
  return { status: 200, body: { destinations: shown } };
};

const plans: ReadOperation = (call, _progress, { catalogue, stock }) => {
  const place = catalogue.destinations.get(call.subject);
  if (place === undefined)
    return refusal(404, 'not_found', `There is no destination "${call.subject.slice(0, 80)}".`);
  const onSale = place.plans.filter((plan) => stock.isOnSale(plan));
  return { status: 200, body: { destination: place.destination, plans: onSale.map(renderPlan) } };
};

/** Reads an eSIM of the caller's account (Spec 4, lookup rule 2). */
function ofEsim(render: (esim: Esim, call: Call, state: SandboxState) => object): ReadOperation {
  return (call, progress, state) => {
    const esim = state.esims.byIccid(required(progress.account, 'account').id, call.subject);
    if (esim === undefined)
      return refusal(404, 'not_found', 'There is no eSIM with that ICCID on the account.');
    return { status: 200, body: render(esim, call, state) };
  };
}

const balances: ReadOperation = (_call, progress, { accounts }) => {
  const rows = accounts.balancesOf(required(progress.account, 'account').id);
  const shown = rows.map(({ currency, amount_minor: minor }) => ({
    currency,
    amount: toDecimal(minor, currency),
  }));
  return { status: 200, body: { balances: shown } };
};

/** The operations that change nothing. */
export const readOperations = {
  gift_card_lookup: lookup('gift_card'),
  esim_order_lookup: lookup('esim'),
  products,
  destinations,
  plans,
  topups: ofEsim((esim, _call, state) => ({
    iccid: esim.iccid,
    topups: topupPlans(esim, state).map(renderPlan),
  })),
  esim: ofEsim((esim, call) => renderEsim(esim, call.arrivedAt)),
  balances,
  unknown: () =>
    refusal(
      404,
      'not_found',
      'There is no such operation. See /openapi.json for those that exist.',
    ),
} satisfies Record<string, ReadOperation>;
