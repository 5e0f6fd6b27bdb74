import type { Unit } from '../../src/core/answers/order-answer.ts';
import type { ApiAnswer } from './api-call.ts';
import type { SimEsim, SimOrder } from './api-ledger.ts';
import type { ApiReadings } from './api-readings.ts';

export function errorAnswer(status: number, code: string, message: string): ApiAnswer {
  return { status, headers: {}, body: JSON.stringify({ error: { code, message } }) };
}

export function moneyText(cents: number): string {
  return `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;
}

/** A gift card as it is shown. What is no code of the ledger is shown as it is. */
export function cardUnit(code: string, form: ApiReadings['unitForm']): Unit {
  if (!code.startsWith('CODE-') || form === undefined) return { code };
  return form === 'link'
    ? { url: `https://gift.example/${code}` }
    : { code: 'CARD-7777', pin: code };
}

/** The code of the ledger in a unit, or its ICCID. */
export const unitText = ({ code, pin, url, iccid }: Unit): string =>
  pin ?? url?.replace('https://gift.example/', '') ?? code ?? iccid ?? '';

/** Costs as some write them, which nobody may take for another amount. */
function strangeCost(cents: number): string | number {
  const text = moneyText(cents);
  const forms = [text.replace('.', ','), `${text}e0`, `-${text}`, `1,00${text}`, -cents / 100 - 1];
  return forms[cents % forms.length] ?? '';
}

/** The current state of an order, in the form of this reading of the API. */
export function orderAnswer(
  order: SimOrder,
  readings: ApiReadings,
  nowMs: number,
  esimState: (iccid: string) => SimEsim['state'] | undefined,
): ApiAnswer {
  const complete = nowMs >= order.completeAtMs;
  const refunded = order.state === 'refunded' || order.shownAsRefunded;
  const word = complete ? readings.doneWord : readings.pendingWord;
  const status = refunded ? 'refunded' : order.state === 'failed' ? 'failed' : word;
  const shown: Record<string, unknown> = { number: order.number };
  if (status !== null) shown['status'] = status;
  if (readings.echo === true) shown['reference'] = order.reference;
  if (readings.echo !== false) Object.assign(shown, echoOf(order));
  if (readings.costShown)
    Object.assign(shown, {
      total: readings.strangeCosts ? strangeCost(order.cost) : moneyText(order.cost),
      currency: order.currency,
    });
  if (complete && order.operation === 'gift_card_order')
    shown['codes'] = order.units.map((code) =>
      readings.unreadField
        ? { code, second_part: `SECOND-${order.number}` }
        : cardUnit(code, readings.unitForm),
    );
  if (complete && order.operation === 'esim_order') {
    shown['esims'] = order.units.map((iccid) => ({
      iccid,
      lpa: `LPA:1$smdp.example.com$M${iccid}`,
      ...(readings.cancelShows !== 'nothing' && esimState(iccid) === 'cancelled'
        ? { status: 'cancelled' }
        : {}),
    }));
  }
  const body = readings.envelope === '$' ? shown : { [readings.envelope]: shown };
  return { status: 200, headers: {}, body: JSON.stringify(body) };
}

function echoOf(order: SimOrder): Record<string, unknown> {
  switch (order.operation) {
    case 'gift_card_order':
      return { variant: order.product, quantity: order.quantity };
    case 'esim_order':
      return { plan: order.product, quantity: order.quantity };
    case 'esim_topup':
      return { plan: order.product, iccid: order.iccid };
  }
}
