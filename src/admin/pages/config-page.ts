import { html } from 'hono/html';
import type { ConfigValue } from '../../config/config.ts';
import { type Html, table } from '../html/document.ts';
import { asked, filterForm } from './list-parts.ts';
import type { PageSources } from './page-sources.ts';
import { longText } from './text.ts';

const fingerprintLength = 8;

/** The configuration in use: every value and where it came from. A secret is shown as the beginning of its digest. */
export function configPage({ configInUse }: PageSources, url: URL): Html {
  const inUse = configInUse();
  if (inUse === null)
    return html`<p>This worker was started without a file that can be read again, as the demo is.</p>`;
  const wanted = asked(url, 'key')?.toLowerCase();
  const shown = inUse.values.filter(({ path }) => wanted === undefined || path.toLowerCase().includes(wanted));
  const rows = shown.map((value) => [
    html`<span class="code">${value.path}</span>`,
    valueText(value, inUse.digests.get(value.path)),
    value.place === '' ? value.source : longText(value.place),
  ]);
  return html`<p>These values are in use. Change them in the file, and apply them with <code>order-sync reload</code> or a restart.</p>
${filterForm('/config', [{ kind: 'search', name: 'key', label: 'Key', value: wanted ?? '' }])}
${rows.length === 0 ? html`<p>No key fits this filter.</p>` : table('Configuration', ['Key', 'Value', 'From'], rows)}`;
}

function valueText({ value }: ConfigValue, digest: string | undefined): Html {
  // Secrets are masked already.
  if (value === '***')
    return html`secret${digest === undefined ? null : html`, fingerprint <span class="code">${digest.slice(0, fingerprintLength)}</span>`}`;
  return longText(typeof value === 'string' ? value : JSON.stringify(value));
}
