import type { Buffer } from 'node:buffer';
import type { Clock } from '../../core/clock.ts';
import type { WholeRequest } from '../../store/intake/intake.ts';
import { isObject } from '../orders/check-line.ts';
import { type OpenSkuMap, type SkuSource, withSkuRules } from '../orders/sku-source.ts';
import { concerns, type MappingRules, mapOrder } from './field-mapping.ts';
import type { DocumentMistake } from './problem.ts';
import {
  checkLineCount,
  fragment,
  invalid,
  lineCount,
  mistakeOfFinding,
  type ReadOrders,
  readJson,
  readLines,
  readOrders,
  shownAs,
} from './read-orders.ts';
import type { ShopForm, WebhookLimits, WebhookSettings } from './settings.ts';

/** Reads request bodies, in the worker's format or that of a home-made shop. */
export class ShopForms {
  readonly #limits: WebhookLimits;
  readonly #skus = new Map<ShopForm, SkuSource>();
  readonly #clock: Pick<Clock, 'wallMs'>;

  /** Throws CONFIG_INVALID when a SKU map cannot be used. */
  constructor({ limits, hmac }: WebhookSettings, openSkuMap: OpenSkuMap, clock: Pick<Clock, 'wallMs'>) {
    this.#limits = limits;
    this.#clock = clock;
    for (const { form } of hmac) {
      if (form !== null && form.skuMap !== null) this.#skus.set(form, openSkuMap(form.skuMap));
    }
  }

  /** `warn` while a changed SKU map cannot be used, and its last good version is used instead. */
  health(): 'pass' | 'warn' {
    return [...this.#skus.values()].some((file) => file.problem !== null) ? 'warn' : 'pass';
  }

  /** Reads the orders of a body; without a form they are in the worker's format. Throws Refusal. */
  read(body: Buffer, form: ShopForm | null, source: string): ReadOrders {
    if (form === null) return readOrders(body, this.#limits, source);
    const { fields, currency, unmatched } = form;
    const skus = this.#skus.get(form)?.current() ?? null;
    const read = readShopOrder(body, this.#limits, source, { fields, currency, unmatched, skus });
    return { ...read, lines: read.lines.map((line) => withSkuRules(line, skus, this.#clock.wallMs())) };
  }
}

/**
 * Reads one order of a home-made shop, by the same rules as an order in the worker's format; mistakes have their place in
 * what the shop sent. Returns no lines when none is for the worker. Throws Refusal with every mistake found.
 */
function readShopOrder(body: Buffer, limits: WebhookLimits, defaultSource: string, rules: MappingRules): ReadOrders {
  const { value, findings } = readJson(body, limits.depth);
  if (!isObject(value)) throw invalid([{ pointer: '#', code: 'not_an_order', detail: 'must be an order: an object' }]);
  const mapped = mapOrder(value, rules);
  const mistakes: DocumentMistake[] = [
    ...findings.filter((finding) => concerns(finding, rules.fields)).map(mistakeOfFinding),
    ...mapped.mistakes.map((mistake) => {
      const { pointer, code, rule } = mistake;
      return { pointer: fragment(pointer), code, detail: rule, ...shownAs(mistake.value) };
    }),
  ];
  const count = lineCount(mapped.value);
  checkLineCount(count, limits.batchLines);
  const lines: WholeRequest['lines'][number][] = [];
  // No line is left to check when each one was ignored or has a mistake already.
  if (count > 0 || mapped.ignored + mapped.mistakes.length === 0) {
    const order = { value: mapped.value, findings: [], path: [], lineNumberOf: () => 1 };
    for (const mistake of readLines(order, defaultSource, lines)) {
      mistakes.push({ ...mistake, pointer: fragment(mapped.placeOf(mistake.pointer.slice(1))) });
    }
  }
  if (mistakes.length > 0) throw invalid(mistakes);
  return { lines, single: true };
}
