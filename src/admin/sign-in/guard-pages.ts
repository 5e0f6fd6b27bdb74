import { timingSafeEqual } from 'node:crypto';
import type { Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { html } from 'hono/html';
import { secureHeaders } from 'hono/secure-headers';
import { secretDigest } from '../../ops/callers.ts';
import { environmentBar, type Html, htmlDocument, type ShownWorker } from '../html/document.ts';
import type { PageAccess } from './page-access.ts';
import { type PageEnv, whyNotThisHost, whyNotThisSender } from './visitor.ts';

const formBytes = 65_536;
const own = ["'self'"];
const none = ["'none'"];

/**
 * Everything comes from this address, nothing is inside the page itself, and no other site can hold
 * it in a frame.
 */
const headers = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: none,
    scriptSrc: own,
    styleSrc: own,
    imgSrc: own,
    connectSrc: own,
    formAction: own,
    baseUri: none,
    frameAncestors: none,
  },
  // With `no-referrer` a browser would send its own forms without an origin.
  referrerPolicy: 'same-origin',
  xFrameOptions: 'DENY',
  // The worker speaks http; whether there is https in front of it, only the proxy knows.
  strictTransportSecurity: false,
  permissionsPolicy: { camera: [], geolocation: [], microphone: [] },
});

/**
 * Checks every request for a page before its route runs: the host name, who is signed in, and for a
 * form who sent it. Routes that are registered after this find the visitor in
 * `context.var.visitor`, and a form is that of the visitor.
 */
export function guardPages(routes: Hono<PageEnv>, access: PageAccess, worker: ShownWorker): void {
  routes.use(headers);
  routes.use(async (context, next) => {
    if (!access.isShown)
      return await refuse(
        context,
        'There are no pages: admin.tokens is empty. See docs/pages.md.',
        404,
      );
    const forbidden = whyNotThisHost(context, access.settings);
    if (forbidden !== null) return await refuse(context, forbidden);
    return await next();
  });
  routes.use(
    bodyLimit({
      maxSize: formBytes,
      onError: (context) => refuse(context, 'The form is too large.', 413),
    }),
  );
  addSignIn(routes, access, worker);
  routes.use(async (context, next) => {
    const visitor = access.visitor(context);
    if (visitor === null) return await askToSignIn(context, worker);
    context.set('visitor', visitor);
    if (context.req.method === 'GET' || context.req.method === 'HEAD') return await next();
    const forbidden = whyNotThisSender(context) ?? (await whyNotThisForm(context, visitor.csrf));
    return forbidden === null ? await next() : await refuse(context, forbidden);
  });
  routes.post('/sign-out', (context) => {
    access.signOut(context);
    return context.redirect('/', 303);
  });
}

function addSignIn(routes: Hono<PageEnv>, access: PageAccess, worker: ShownWorker): void {
  routes.post('/sign-in', async (context) => {
    const forbidden = whyNotThisSender(context);
    if (forbidden !== null) return await refuse(context, forbidden);
    const form = await context.req.parseBody();
    const returnTo = ownPath(form['return_to']);
    const signIn = await access.signIn(
      context,
      typeof form['token'] === 'string' ? form['token'].trim() : '',
    );
    if (signIn.ok) return context.redirect(returnTo, 303);
    if (signIn.waitMs === 0)
      return await context.html(signInPage(worker, returnTo, 'This token is not known.'), 401);
    const seconds = Math.ceil(signIn.waitMs / 1000);
    context.header('retry-after', String(seconds));
    const problem = `Too many wrong tokens came from this address; this token was not checked. Try again in ${seconds} s.`;
    return await context.html(signInPage(worker, returnTo, problem), 429);
  });
}

/**
 * A link on another site leads here without the cookie, because that is `SameSite=Strict`. Then the
 * page asks for itself once more, and the browser sends the cookie.
 */
async function askToSignIn(context: Context<PageEnv>, worker: ShownWorker): Promise<Response> {
  const isRead = context.req.method === 'GET';
  const url = new URL(context.req.url);
  const returnTo = isRead ? ownPath(url.pathname + url.search) : '/';
  const again = isRead && context.req.header('sec-fetch-site') === 'cross-site';
  return await context.html(signInPage(worker, returnTo, null, again), 401);
}

/**
 * The `csrf` of another session, or none, is that of a form that this visitor did not get from
 * here.
 */
async function whyNotThisForm(
  context: Context<PageEnv>,
  csrf: string | null,
): Promise<string | null> {
  if (csrf === null)
    return 'Without admin.tokens the pages have no actions. Add a token for an operator: docs/pages.md.';
  const sent = (await context.req.parseBody())['csrf'];
  const isOwn = typeof sent === 'string' && timingSafeEqual(secretDigest(sent), secretDigest(csrf));
  return isOwn
    ? null
    : 'The form belongs to another session. Open the page again, and repeat what you did.';
}

function refuse(
  context: Context,
  why: string,
  status: 403 | 404 | 413 = 403,
): Response | Promise<Response> {
  return context.html(refusedPage(why), status);
}

/** A path of these pages, never an address of another site. */
export function ownPath(path: unknown): string {
  if (typeof path !== 'string' || !path.startsWith('/') || path.length > 2000) return '/';
  const base = 'http://pages.invalid';
  if (!URL.canParse(path, base)) return '/';
  const url = new URL(path, base);
  // A path such as `/.//example.com` becomes one that a browser reads as the address of another
  // site.
  return url.origin === base && !url.pathname.startsWith('//') ? url.pathname + url.search : '/';
}

/**
 * Asks for a token. @param returnTo the path that the visitor asked for @param again see
 * `askToSignIn`
 */
function signInPage(
  worker: ShownWorker,
  returnTo: string,
  problem: string | null,
  again = false,
): Html {
  return htmlDocument(
    `Sign in - ${worker.instance} (${worker.environment})`,
    html`<header>${environmentBar(worker)}</header>
<main id="main" class="narrow"><div class="card">
<p class="name">order-sync</p>
<h1>Sign in to ${worker.instance}</h1>
${problem === null ? null : html`<p class="problem" role="alert">${problem}</p>`}
<form method="post" action="/sign-in" class="stack">
<input type="hidden" name="return_to" value="${returnTo}">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus maxlength="4096" spellcheck="false">
<button type="submit">Sign in</button>
</form>
<p class="hint">Tokens are in the configuration of the worker, under <code>admin.tokens</code>.</p>
</div></main>`,
    again,
  );
}

/** Says why a request was not accepted, to somebody who may not see a page. */
function refusedPage(why: string): Html {
  return htmlDocument(
    'Not accepted - order-sync',
    html`<main id="main" class="narrow"><div class="card">
<h1>Not accepted</h1>
<p>${why}</p>
<p><a href="/">To the overview</a></p>
</div></main>`,
  );
}
