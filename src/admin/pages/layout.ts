import type { Context } from 'hono';
import { html } from 'hono/html';
import { isoTime, shortTime } from '../../core/clock.ts';
import { totalOf } from '../../core/counts.ts';
import { keptAnswer } from '../kept-answer.ts';
import type { PageEnv, Visitor } from '../sign-in/visitor.ts';
import { type Html, htmlDocument } from '../html/document.ts';
import type { PageSources } from './page-sources.ts';

/** The shared facts of every page may be so old, in ms. */
const keptForMs = 1000;
const mostCounted = 1000;

const links = [
  ['/', 'Overview'],
  ['/attention', 'Attention'],
  ['/orders', 'Orders'],
  ['/deliveries', 'Deliveries'],
  ['/audit', 'Audit'],
  ['/config', 'Configuration'],
] as const;

/**
 * A whole page with this title and content.
 * @param formOf where a page about what became of a form leads back to: the page of the form. It
 * does not refresh itself
 */
export type ShowPage = (
  context: Context<PageEnv>,
  title: string,
  main: Html,
  formOf?: string,
) => Html;

/**
 * What every page shows around its content: which worker it is of, who looks, why nothing is
 * bought, and the links to other pages.
 */
export function pageLayout(sources: PageSources): ShowPage {
  const { instance, environment, version, clock } = sources;
  const attention = keptAnswer(() => attentionCount(sources), keptForMs, clock);
  const stopped = keptAnswer(() => sources.explainQueue().reasons, keptForMs, clock);
  return (context, title, main, formOf) => {
    const { visitor } = context.var;
    const { pathname, search } = new URL(context.req.url);
    const here = formOf ?? pathname + search;
    const now = isoTime(clock.wallMs());
    // The overview has the forms that change it.
    const reasons = pathname === '/' ? sources.explainQueue().reasons : stopped();
    return htmlDocument(
      `${attention() === '0' ? '' : `(${attention()}) `}${title} - ${instance} (${environment})`,
      html`<a class="skip" href="#main">To the content</a>
<header>
<p class="environment ${environment}">${
        environment === 'sandbox'
          ? html`<strong>Sandbox</strong>: no real money is spent, and no code can be redeemed`
          : html`<strong>Production</strong>: orders here spend money`
      }</p>
<p class="name"><a href="/">order-sync</a> <span>${instance}</span></p>
<nav aria-label="Pages"><ul>${links.map((link) => navigationLink(link, here, attention()))}</ul></nav>
${signedIn(visitor)}
</header>
<main id="main" tabindex="-1"${formOf === undefined ? html` data-live` : null}>
<h1>${title}</h1>
${visitor.notice === null ? null : html`<p class="good" role="status">${visitor.notice}</p>`}
${reasons.map((reason) => html`<p class="problem">Nothing new is bought: ${reason} <a href="/#pauses">More</a></p>`)}
${main}
<p class="made">As of <time datetime="${now}">${shortTime(now)}</time>. <a href="${here}">Refresh</a></p>
</main>
<footer><p>order-sync ${version}</p></footer>`,
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
      ? html` <span class="count">${attention}</span>`
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
