import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { csrf } from 'hono/csrf';
import { secureHeaders } from 'hono/secure-headers';
import { AccountDesk, type Outcome } from './account-service.ts';
import { type AccountFacts, accountPage, signInPage, styleSheet } from './account-pages.ts';
import type { Web } from '../http/api-routes.ts';
import { isoTime, type SandboxClock } from '../clock.ts';
import type { Committer } from '../committer.ts';
import { type CodePurpose, OneTimeCodes } from './one-time-codes.ts';
import type { Order } from '../orders/orders.ts';
import type { Outbox } from './outbox.ts';
import { type Session, sessionLifetimeMs, Sessions } from './sessions.ts';
import type { Shelf } from '../orders/sandbox-state.ts';

const cookieName = 'sandbox_account';

export type AccountParts = { shelf: Shelf; committer: Committer; clock: SandboxClock; outbox: Outbox };

/**
 * The account page (Spec 5.3: Account, API). Plain forms, no scripts. A form counts only with the cookie of its
 * session, the token that was in the page, and an origin that is this very site.
 */
export function accountRoutes({ shelf, committer, clock, outbox }: AccountParts): Hono<Web> {
  const sessions = new Sessions(shelf.database);
  const codes = new OneTimeCodes(shelf.database);
  const desk = new AccountDesk(shelf, codes);
  const app = new Hono<Web>();
  app.use(
    '*',
    secureHeaders({
      contentSecurityPolicy: {
        defaultSrc: ["'none'"],
        styleSrc: ["'self'"],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
        baseUri: ["'none'"],
      },
      referrerPolicy: 'same-origin',
      strictTransportSecurity: false,
    }),
    csrf(),
    bodyLimit({ maxSize: 16_384 }),
    async (context, next) => {
      await next();
      context.header('cache-control', 'no-store');
    },
  );

  const session = (context: Context<Web>): Session | null => sessions.of(getCookie(context, cookieName), clock.now());
  const show = (context: Context<Web>, { account, formToken }: Session, outcome: Outcome | null) =>
    context.html(accountPage(factsOf(shelf, account, formToken), outcome));

  async function sendCode(account: string, purpose: CodePurpose): Promise<boolean> {
    const code = await committer.run(() => codes.issue(account, purpose, clock.now()));
    if (code === null) return false;
    const to = shelf.accounts.account(account)?.email ?? '';
    await outbox.send({ to, account, purpose, code, sent_at: isoTime(clock.now()) });
    return true;
  }

  /** One form of the account page: refused without its session and its token, else carried out and shown. */
  const form =
    (run: (account: string, fields: Map<string, string>, context: Context<Web>) => Outcome | Promise<Outcome>) =>
    async (context: Context<Web>): Promise<Response> => {
      const current = session(context);
      if (current === null) return context.redirect('/account/sign-in', 303);
      const fields = await fieldsOf(context);
      if (fields.get('form_token') !== current.formToken)
        return context.text('The form is too old: go back and reload.', 403);
      return show(context, current, await run(current.account, fields, context));
    };
  const inTransaction =
    (run: (account: string, fields: Map<string, string>, now: number, context: Context<Web>) => Outcome) =>
    (account: string, fields: Map<string, string>, context: Context<Web>): Promise<Outcome> =>
      committer.run(() => run(account, fields, clock.now(), context));

  app.get('/style.css', (context) => context.body(styleSheet, 200, { 'content-type': 'text/css' }));
  app.get('/', (context) => {
    const current = session(context);
    return current === null ? context.redirect('/account/sign-in', 303) : show(context, current, null);
  });
  app.get('/sign-in', (context) => context.html(signInPage(null, null)));
  app.post('/sign-in', async (context) => {
    const email = field(await fieldsOf(context), 'email').trim();
    const account = accountOfEmail(shelf, email);
    if (account !== undefined) await sendCode(account, 'sign_in');
    // The same words whether or not there is such an account.
    return context.html(signInPage('If there is such an account, a one-time code is on its way to its holder.', email));
  });
  app.post('/session', async (context) => {
    const fields = await fieldsOf(context);
    const email = field(fields, 'email').trim();
    const cookie = await committer.run(() => {
      const account = accountOfEmail(shelf, email);
      const known = account !== undefined && codes.redeem(account, 'sign_in', field(fields, 'code'), clock.now());
      return known ? sessions.start(account, clock.now()) : null;
    });
    if (cookie === null) return context.html(signInPage('The one-time code is wrong or too old.', email), 403);
    const options = { path: '/account', httpOnly: true, sameSite: 'Strict', maxAge: sessionLifetimeMs / 1000 } as const;
    setCookie(context, cookieName, cookie, options);
    return context.redirect('/account', 303);
  });
  app.post('/sign-out', async (context) => {
    const cookie = getCookie(context, cookieName);
    const current = session(context);
    const fields = await fieldsOf(context);
    if (cookie !== undefined && current !== null && fields.get('form_token') === current.formToken) {
      await committer.run(() => sessions.end(cookie));
      deleteCookie(context, cookieName, { path: '/account' });
    }
    return context.redirect('/account/sign-in', 303);
  });
  app.post(
    '/keys/code',
    form(async (account) => {
      const sent = await sendCode(account, 'create_key');
      return {
        message: sent
          ? 'A one-time code is on its way to you.'
          : 'Too many codes were asked for. Try again in an hour.',
      };
    }),
  );
  app.post(
    '/keys',
    form(
      inTransaction((account, fields, now) =>
        desk.createKey(account, field(fields, 'name'), field(fields, 'code'), now),
      ),
    ),
  );
  app.post(
    '/keys/:id/revoke',
    form(inTransaction((account, _fields, now, context) => desk.revokeKey(account, keyId(context), now))),
  );
  app.post(
    '/keys/:id/addresses',
    form(
      inTransaction((account, fields, _now, context) =>
        desk.setAddresses(account, keyId(context), field(fields, 'addresses')),
      ),
    ),
  );
  app.post(
    '/balances',
    form(
      inTransaction((account, fields, now) =>
        desk.addBalance(account, field(fields, 'currency'), field(fields, 'amount'), now),
      ),
    ),
  );
  app.post(
    '/shop',
    form(
      inTransaction((account, fields, now) =>
        desk.buy(account, field(fields, 'variant'), field(fields, 'currency'), now),
      ),
    ),
  );
  return app;
}

async function fieldsOf(context: Context<Web>): Promise<Map<string, string>> {
  const body = await context.req.parseBody().catch(() => ({}));
  return new Map(Object.entries(body).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

function accountOfEmail(shelf: Shelf, email: string): string | undefined {
  return shelf.database
    .prepare<[string], string>('SELECT id FROM accounts WHERE lower(email) = lower(?)')
    .pluck()
    .get(email);
}

function factsOf(shelf: Shelf, account: string, formToken: string): AccountFacts {
  const holder = shelf.accounts.account(account);
  const standing = holder?.blocked === 1 ? 'blocked' : holder?.wholesale === 1 ? 'wholesale' : 'not wholesale';
  return {
    account,
    email: holder?.email ?? '',
    standing,
    formToken,
    balances: shelf.accounts.balancesOf(account),
    keys: shelf.accounts.keysOf(account).map((key) => ({ ...key, addresses: shelf.accounts.addressesOf(key.id) })),
    orders: shelf.database
      .prepare<[string], Order>('SELECT * FROM orders WHERE account = ? ORDER BY id DESC LIMIT 100')
      .all(account),
    websiteProducts: [...shelf.catalogue.products.values()].filter((product) => product.website_only),
  };
}

function field(fields: Map<string, string>, name: string): string {
  return fields.get(name) ?? '';
}

function keyId(context: Context<Web>): number {
  return Number(context.req.param('id'));
}
