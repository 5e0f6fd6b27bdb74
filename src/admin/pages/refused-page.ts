import { html } from 'hono/html';
import { htmlDocument } from './document.ts';
import type { Html } from './html.ts';

/** Says why a request was not accepted. */
export function refusedPage(why: string): Html {
  return htmlDocument(
    'Not accepted - order-sync',
    html`<main id="main" class="narrow">
<h1>Not accepted</h1>
<p>${why}</p>
<p><a href="/">To the overview</a></p>
</main>`,
  );
}
