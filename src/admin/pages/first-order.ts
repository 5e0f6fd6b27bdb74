import { html } from 'hono/html';
import type { Html } from '../html/document.ts';
import type { PageSources } from './page-sources.ts';
import { card } from './parts.ts';

const order =
  '{"order_id":"1001","currency":"USD","lines":[{"variant":"steam-usd-20","quantity":1}]}';

/** How the first order comes in, where none has yet: with the paths and the address of this worker. */
export function firstOrder({ configInUse }: PageSources): Html {
  const values = configInUse()?.values ?? [];
  const ways = values.flatMap(({ path, value }) => {
    if (typeof value !== 'string') return [];
    if (path === 'intake.webhook.listen')
      return html`<p>Over HTTP:</p>
<pre>curl http://${value}/v1/orders -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '${order}'</pre>`;
    return /^intake\.folders\.\d+\.inbox$/.test(path)
      ? html`<p>As a file, written elsewhere on this disk and moved into the inbox:</p>
<pre>echo '${order}' > order.ndjson
mv order.ndjson ${value}/</pre>`
      : [];
  });
  return card(
    'first',
    'Send the first order',
    html`<p>No order has come in yet. Name a product of your supplier's catalogue:</p>
${ways.length === 0 ? html`<p>Set <code>intake.folders</code>, <code>intake.webhook</code> or a shop in the configuration: see docs/first-day.md.</p>` : ways}
<p class="faint">This page shows the order as soon as it is accepted. <code>order-sync doctor</code> says whether the rest is right.</p>`,
  );
}
