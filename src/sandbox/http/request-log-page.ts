import { html } from 'hono/html';
import { page } from '../account/account-pages.ts';
import type { LoggedRequest, RequestFilter, RequestPage } from '../limits/logged-requests.ts';

type Html = ReturnType<typeof html>;

/** The request log to read: the newest first, with a form that filters and a link to older ones. */
export function requestLogPage(filter: RequestFilter, { requests, next_before: next }: RequestPage): Html {
  return page(
    'Request log',
    html`<h1>Request log</h1>
<p>What programs sent to this sandbox and what it answered. The bodies of older requests are not kept. Keys are shown as <code>[key]</code>; the delivered codes are worth nothing.</p>
<form method="get" action="/__sandbox/log"><label>Text, reference or order number <input name="search" value="${filter.search}" maxlength="200"></label>
<label>Account <input name="account" value="${filter.account}" maxlength="40" size="12"></label>
<label><input type="checkbox" name="failed" value="true"${filter.failed === 'true' ? html` checked` : ''}> failed only</label> <button>Show</button></form>
${requests.length === 0 ? html`<p>There is no such request.</p>` : ''}
${requests.map(requestSection)}
${next === null ? '' : html`<p><a rel="next" href="/__sandbox/log?${new URLSearchParams(olderThan(filter, next)).toString()}">Older ones</a></p>`}`,
  );
}

function olderThan({ search, account, failed, limit }: RequestFilter, before: string): Record<string, string> {
  return { search, account, failed, limit: String(limit), before };
}

function requestSection(request: LoggedRequest): Html {
  const { id, at, method, path, operation, status, code, fault } = request;
  const answer = status === 0 ? 'no answer' : `${status}${code === null ? '' : ` ${code}`}`;
  const details = { account: request.account, key: request.key, address: request.address, operation };
  const found = { ...details, reference: request.reference, order: request.order_number, fault };
  const facts = Object.entries(found).filter(([, value]) => value !== null && value !== '');
  return html`<details id="${id}"><summary><code>${id}</code> ${at} <code>${method ?? ''} ${path ?? operation}</code>: <strong>${answer}</strong>${fault === null ? '' : html`, fault <code>${fault}</code>`}</summary>
<p>${facts.map(([name, value]) => html`${name}: <code>${value}</code> `)}</p>
${bodySection('Request', request.request)}${bodySection('Answer of the service', request.response)}</details>`;
}

function bodySection(title: string, body: string | null): Html {
  if (body === null) return html`<p>${title}: not kept any more</p>`;
  return body === '' ? html`<p>${title}: empty</p>` : html`<p>${title}</p><pre>${body}</pre>`;
}
