import type { Context } from 'hono';
import { html } from 'hono/html';
import { isoTime, shortTime } from '../../core/clock.ts';
import { totalOf } from '../../core/counts.ts';
import { keptAnswer } from '../kept-answer.ts';
import type { PageEnv, Visitor } from '../sign-in/visitor.ts';
import { environmentBar, type Html, htmlDocument } from '../html/document.ts';
import type { PageSources } from './page-sources.ts';

/** The shared facts of every page may be so old, in ms. */
const keptForMs = 1000;
const mostCounted = 1000;

const links = [
  ['/', 'Overview'],
  ['/attention', 'Attention'],
  ['/orders', 'Orders'],
  ['/deliveries', 'Deliveries'],
  ['/numbers', 'Numbers'],
  ['/audit', 'Audit'],
  ['/config', 'Config'],
] as const;

/**
 * A whole page with this title and content.
 * @param formOf where a page that does not refresh itself leads back to: about what became of a
 * form, the page of the form
 */
export type ShowPage = (
  context: Context<PageEnv>,
  title: string,
  main: Html,
  formOf?: string,
) => Html;

/**
 * The frame of every page: the name of the worker, the visitor, whether buying is stopped, and the
 * links to other pages.
 */
export function pageLayout(sources: PageSources): ShowPage {
  const { instance, environment, version, clock } = sources;
  const attention = keptAnswer(() => attentionCount(sources), keptForMs, clock);
  const stopped = keptAnswer(() => sources.explainQueue().reasons.length > 0, keptForMs, clock);
  return (context, title, main, formOf) => {
    const { visitor } = context.var;
    const { pathname, search } = new URL(context.req.url);
    const here = formOf ?? pathname + search;
    const now = isoTime(clock.wallMs());
    return htmlDocument(
      `${attention() === '0' ? '' : `(${attention()}) `}${title} - ${instance} (${environment})`,
      html`<a class="skip" href="#main">To the content</a>
<header>${environmentBar(sources)}<div class="bar">
<p class="name"><a href="/">order-sync</a> <span>${instance}</span></p>
<nav aria-label="Pages"><ul>${links.map((link) => navigationLink(link, here, attention()))}</ul></nav>
<form class="find" action="/find" role="search"><input type="search" name="search" required maxlength="200" aria-label="Search orders" placeholder="Order, e-mail, SKU, code"></form>
${signedIn(visitor)}
</div></header>
${visitor.notice === null ? null : html`<p class="toast" role="status">${visitor.notice}</p>`}
<main id="main" tabindex="-1"${formOf === undefined ? html` data-live` : null}>
${pathname !== '/' && stopped() ? html`<p class="problem">Buying is stopped. <a href="/">Why, and what to do</a></p>` : null}
<h1>${title}</h1>
${main}
</main>
<footer><p>order-sync ${version}, <span class="made">as of <time datetime="${now}">${shortTime(now)}</time></span> <a href="${here}">Refresh</a></p></footer>`,
    );
  };
}

function navigationLink(
  [path, text]: (typeof links)[number],
  here: string,
  attention: string,
): Html {
  const isHere = new RegExp(path === '/' ? '^/(?:[?]|$)' : `^${path}(?:[/?]|$)`).test(here);
  const count =
    path === '/attention' && attention !== '0'
      ? html` <span class="count is-problem">${attention}</span>`
      : null;
  return html`<li><a href="${path}"${isHere ? html` aria-current="page"` : null}>${text}${count}</a></li>`;
}

function signedIn({ name, role, csrf }: Visitor): Html {
  if (csrf === null)
    return html`<p class="visitor">Read only: there are no <code>admin.tokens</code></p>`;
  return html`<form class="visitor" method="post" action="/sign-out">
<input type="hidden" name="csrf" value="${csrf}">
<span>${name} (${role})</span> <button type="submit" class="plain">Sign out</button>
</form>`;
}

function attentionCount({ read }: PageSources): string {
  const total = totalOf(read.attentionCounts({}, mostCounted + 1));
  return total > mostCounted ? `${mostCounted}+` : String(total);
}
