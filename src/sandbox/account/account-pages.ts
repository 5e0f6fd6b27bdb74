import { html } from 'hono/html';
import type { AccountService, Outcome } from './account-service.ts';
import { maxAddresses, maxLiveKeys } from './accounts.ts';
import { isoTime } from '../clock.ts';
import { toDecimal } from './money.ts';

type Html = ReturnType<typeof html>;
type AccountFacts = ReturnType<AccountService['facts']>;

export const styleSheet = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; background: #fff }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1rem } th, td { text-align: left; padding: .4rem .6rem; border-bottom: 1px solid #ccc; vertical-align: top }
form { margin: .3rem 0 } input, select, textarea, button { font: inherit; padding: .25rem .5rem } code, pre { font-family: ui-monospace, monospace; overflow-wrap: anywhere }
pre { background: #f3f3f3; padding: .7rem; white-space: pre-wrap } .banner { background: #fff3c4; border: 1px solid #b58900; padding: .4rem .8rem }
.notice { background: #e6f0ff; border: 1px solid #36c; padding: .4rem .8rem } section { margin: 2rem 0 } summary { cursor: pointer } .scroll { overflow-x: auto }
`;

export function page(title: string, content: Html): Html {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title><link rel="stylesheet" href="/account/style.css"></head>
<body><p class="banner">Sandbox: no real money, no real products.</p>${content}</body></html>`;
}

export function signInPage(notice: string | null, email: string | null): Html {
  return page(
    'Sign in',
    html`<h1>Account</h1>${notice === null ? '' : html`<p class="notice" role="status">${notice}</p>`}
<form method="post" action="/account/sign-in"><label>E-mail of the account <input type="email" name="email" required value="${email ?? ''}"></label>
<button>Send me a one-time code</button></form>
${
  email === null
    ? ''
    : html`<form method="post" action="/account/session"><input type="hidden" name="email" value="${email}">
<label>One-time code <input name="code" inputmode="numeric" autocomplete="one-time-code" required></label> <button>Sign in</button></form>`
}`,
  );
}

export function accountPage(facts: AccountFacts, formToken: string, outcome: Outcome | null): Html {
  const token = html`<input type="hidden" name="form_token" value="${formToken}">`;
  return page(
    `Account ${facts.account}`,
    html`<h1>Account ${facts.account}</h1>
<form method="post" action="/account/sign-out">${token}${facts.email} (${facts.standing}) <button>Sign out</button></form>
${outcome === null ? '' : html`<p class="notice" role="status">${outcome.message}</p>`}
${outcome?.newKey === undefined ? '' : html`<pre id="new-key">${outcome.newKey}</pre>`}
${balancesSection(facts, token)}${keysSection(facts, token)}${ordersSection(facts)}${shopSection(facts, token)}`,
  );
}

function balancesSection({ balances }: AccountFacts, token: Html): Html {
  return html`<section><h2>Balances</h2><table><tr><th>Currency</th><th>Amount</th></tr>
${balances.map((row) => html`<tr><td>${row.currency}</td><td>${toDecimal(row.amount_minor, row.currency)}</td></tr>`)}</table>
<form method="post" action="/account/balances">${token}<label>Add <input name="amount" required placeholder="100.00" size="10"></label>
<label>to <input name="currency" required value="USD" size="4"></label> <button>Add balance</button></form></section>`;
}

function keysSection({ keys }: AccountFacts, token: Html): Html {
  return html`<section><h2>API keys</h2><p>At most ${maxLiveKeys} live keys. A key is shown once, when it is created.</p>
<div class="scroll"><table><tr><th>Name</th><th>Fingerprint</th><th>Created</th><th>Allowlist (up to ${maxAddresses})</th><th></th></tr>
${keys.map((key) => keyRow(key, token))}</table></div>
<form method="post" action="/account/keys/code">${token}<button>Send me a one-time code</button></form>
<form method="post" action="/account/keys">${token}<label>Name <input name="name" required maxlength="60"></label>
<label>One-time code <input name="code" required inputmode="numeric" autocomplete="one-time-code" size="8"></label> <button>Create key</button></form></section>`;
}

function keyRow(key: AccountFacts['keys'][number], token: Html): Html {
  const facts = html`<td>${key.name}</td><td><code>${key.fingerprint.slice(0, 12)}</code></td><td>${isoTime(key.created_at)}</td>`;
  if (key.revoked_at !== null) return html`<tr>${facts}<td colspan="2">revoked ${isoTime(key.revoked_at)}</td></tr>`;
  return html`<tr>${facts}<td><form method="post" action="/account/keys/${key.id}/addresses">${token}
<textarea name="addresses" rows="2" aria-label="Allowlist of ${key.name}">${key.addresses.join('\n')}</textarea> <button>Save</button></form></td>
<td><form method="post" action="/account/keys/${key.id}/revoke">${token}<button>Revoke</button></form></td></tr>`;
}

function ordersSection({ orders }: AccountFacts): Html {
  return html`<section><h2>Orders</h2><p>The latest 100, of the API and of the website.</p>
<div class="scroll"><table><tr><th>Number</th><th>From</th><th>Reference</th><th>Item</th><th>Quantity</th><th>Total</th><th>Status</th><th>Created</th></tr>
${orders.map(
  (
    order,
  ) => html`<tr><td>${order.number}</td><td>${order.channel}</td><td>${order.reference ?? ''}</td><td>${order.item}</td>
<td>${order.quantity}</td><td>${toDecimal(order.cost_minor, order.currency)} ${order.currency}</td><td>${order.status}</td><td>${isoTime(order.created_at)}</td></tr>`,
)}</table></div></section>`;
}

function shopSection({ websiteProducts }: AccountFacts, token: Html): Html {
  return html`<section><h2>Website shop</h2><p>Products that are sold here only, not by API.</p><table>
${websiteProducts.map(
  (product) => html`<tr><td>${product.name}</td><td><form method="post" action="/account/shop">${token}
<input type="hidden" name="variant" value="${product.variant}"><select name="currency" aria-label="Balance to charge">
${[...product.prices].map(([currency, minor]) => html`<option value="${currency}">${toDecimal(minor, currency)} ${currency}</option>`)}
</select> <button>Buy</button></form></td></tr>`,
)}</table></section>`;
}
