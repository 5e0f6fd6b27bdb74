import { html } from 'hono/html';
import { type Clock, shortTime } from '../../core/clock.ts';
import type { Visitor } from '../sign-in/visitor.ts';
import { type Html, htmlDocument } from '../html/document.ts';

/** The facts about the worker that every page shows. */
export interface PageFrame {
  readonly instance: string;
  readonly environment: 'sandbox' | 'production';
  readonly version: string;
  readonly visitor: Visitor;
  /** How many rows the attention list has, as text. */
  readonly attention: string;
  /** Why nothing is bought at all; null: something may be. */
  readonly stopped: string | null;
  /** The outcome of this visitor's last form; null: there is none. */
  readonly notice: string | null;
  /** The path and query of this page. */
  readonly here: string;
  /** When it was made, in ISO 8601. */
  readonly now: string;
  /** Whether the script may fetch it again by itself. */
  readonly live: boolean;
}

const links = [
  ['/', 'Overview'],
  ['/attention', 'Attention'],
  ['/orders', 'Orders'],
  ['/deliveries', 'Deliveries'],
  ['/audit', 'Audit'],
  ['/config', 'Configuration'],
] as const;

/** A page: its title, its links to other pages, and its content. */
export function page(frame: PageFrame, title: string, main: Html): Html {
  const { instance, environment, version, now } = frame;
  return htmlDocument(
    `${title} - ${instance} (${environment})`,
    html`<a class="skip" href="#main">To the content</a>
<header>
<p class="environment ${environment}">${
      environment === 'sandbox'
        ? html`<strong>Sandbox</strong>: no real money is spent, and no code can be redeemed`
        : html`<strong>Production</strong>: orders here spend money`
    }</p>
<p class="name"><a href="/">order-sync</a> <span>${instance}</span></p>
<nav aria-label="Pages"><ul>${links.map((link) => navigationLink(link, frame))}</ul></nav>
${signedIn(frame.visitor)}
</header>
<main id="main" tabindex="-1"${frame.live ? html` data-live` : null}>
<h1>${title}</h1>
${frame.notice === null ? null : html`<p class="good" role="status">${frame.notice}</p>`}
${frame.stopped === null ? null : html`<p class="problem">${frame.stopped} <a href="/#pauses">What is paused</a></p>`}
${main}
<p class="made">As of <time datetime="${now}">${shortTime(now)}</time>. <a href="${frame.here}">Refresh</a></p>
</main>
<footer><p>order-sync ${version}</p></footer>`,
  );
}

const isOverview = (here: string): boolean => /^\/(?:\?|$)/.test(here);

function navigationLink([path, text]: (typeof links)[number], { here, attention }: PageFrame): Html {
  const isHere = path === '/' ? isOverview(here) : new RegExp(`^${path}(?:[/?]|$)`).test(here);
  const count = path === '/attention' && attention !== '0' ? html` <span class="count">${attention}</span>` : null;
  return html`<li><a href="${path}"${isHere ? html` aria-current="page"` : null}>${text}${count}</a></li>`;
}

function signedIn({ name, role, csrf }: Visitor): Html {
  if (csrf === null) return html`<p class="visitor">Read only: there are no <code>admin.tokens</code></p>`;
  return html`<form class="visitor" method="post" action="/sign-out">
<input type="hidden" name="csrf" value="${csrf}">
<span>${name} (${role})</span> <button type="submit" class="plain">Sign out</button>
</form>`;
}

/** So long a visitor is told what was done, in ms: a page that refreshes itself must not take it away at once. */
const shownMs = 20_000;
/** So many visitors are told something, the last ones. */
const mostTold = 100;

/** The message about the last submitted form, for the visitor's next pages. */
export class Notices {
  readonly #clock: Pick<Clock, 'monoMs'>;
  /** By session. */
  readonly #told = new Map<string, { readonly text: string; readonly untilMono: number }>();

  constructor(clock: Pick<Clock, 'monoMs'>) {
    this.#clock = clock;
  }

  tell({ csrf }: Visitor, text: string): void {
    if (csrf === null) return;
    this.#told.delete(csrf);
    this.#told.set(csrf, { text, untilMono: this.#clock.monoMs() + shownMs });
    for (const [oldest] of this.#told) {
      if (this.#told.size <= mostTold) break;
      this.#told.delete(oldest);
    }
  }

  /** Null: there is nothing to tell. */
  of({ csrf }: Visitor): string | null {
    const told = csrf === null ? undefined : this.#told.get(csrf);
    return told !== undefined && this.#clock.monoMs() < told.untilMono ? told.text : null;
  }
}
