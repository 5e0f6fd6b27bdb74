import { html } from 'hono/html';
import { type Html, table } from '../html/document.ts';
import { asked, filterForm } from './list-parts.ts';
import type { CatalogueAnswer, PageSources } from './page-sources.ts';

const withinMs = 15_000;
const mostAsked = 50;

/** Looks up products in the supplier's catalogue, on the request budget of the worker. */
export async function cataloguePage({ readCatalogue }: PageSources, url: URL): Promise<Html> {
  const [variants, plans] = [idsIn(url, 'variants'), idsIn(url, 'plans')];
  const isAsked = variants.length + plans.length > 0;
  const answer = isAsked ? await readCatalogue({ variants, plans, withinMs }) : null;
  return html`<p>A lookup reads pages of the catalogue. Each is one request of the budget, so this page does not refresh itself.</p>
${filterForm('/catalogue', [
  { kind: 'text', name: 'variants', label: 'Gift card variants, with commas', value: variants.join(', ') },
  { kind: 'text', name: 'plans', label: 'eSIM plans, with commas', value: plans.join(', ') },
])}
${answer === null ? null : answerTables(answer, variants, plans)}`;
}

function idsIn(url: URL, name: string): string[] {
  const ids = (asked(url, name) ?? '').split(/[\s,]+/).filter((id) => id !== '');
  return [...new Set(ids)].slice(0, mostAsked);
}

function answerTables(answer: CatalogueAnswer, variants: readonly string[], plans: readonly string[]): Html {
  const { products, productsProblem, plansProblem } = answer;
  const productRows = variants.map((variant) => {
    const found = products.find((product) => product.variant === variant);
    if (found === undefined) return [variant, missing(productsProblem), null, null];
    return [variant, soldText(found.sellable), found.maxQuantity ?? 'no limit told', found.currencies.join(', ')];
  });
  const planRows = plans.map((plan) => {
    const found = answer.plans.find((one) => one.plan === plan);
    if (found === undefined) return [plan, missing(plansProblem), null, null];
    const days = found.daily ? `${found.minDays ?? 1} to ${found.maxDays ?? 'any'} days` : 'fixed';
    return [plan, soldText(found.sellable), days, found.currencies.join(', ')];
  });
  return html`${[productsProblem, plansProblem].map((problem) => (problem === null ? null : html`<p class="warning">${problem}</p>`))}
${productRows.length === 0 ? null : table('Gift cards', ['Variant', 'Sold through the API', 'Most in one order', 'Balances'], productRows)}
${planRows.length === 0 ? null : table('eSIM plans', ['Plan', 'Sold through the API', 'Days', 'Balances'], planRows)}`;
}

/** A reading that ended early proves nothing about what it has not seen. */
const missing = (problem: string | null): string =>
  problem === null ? 'not in the catalogue' : 'not found before the reading ended';

const soldText = (sellable: boolean): string => (sellable ? 'yes' : 'no');
