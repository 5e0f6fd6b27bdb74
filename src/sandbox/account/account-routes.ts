import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { csrf } from 'hono/csrf';
import { pageHeaders } from '../http/page-headers.ts';
import type { Web } from '../http/server.ts';
import { accountPage, signInPage, styleSheet } from './account-pages.ts';
import { AccountService, type AccountServiceParts, type Outcome } from './account-service.ts';
import { type Session, sessionLifetimeMs } from './sign-in.ts';

const cookieName = 'sandbox_account';

/** Reads one field of a form; a missing one is empty. */
type Field = (name: string) => string;

/**
 * The account page (Spec 5.3: Account, API): plain forms, no scripts. A form is accepted only with the cookie of its
 * session, the token in the page, and this site as its origin.
 */
export function accountRoutes(parts: AccountServiceParts): Hono<Web> {
  const service = new AccountService(parts);
  const app = new Hono<Web>();
  app.use('*', pageHeaders, csrf(), bodyLimit({ maxSize: 16_384 }));
  const session = (context: Context<Web>): Session | null => service.session(getCookie(context, cookieName));
  const show = (context: Context<Web>, { account, formToken }: Session, outcome: Outcome | null) =>
    context.html(accountPage(service.facts(account), formToken, outcome));

  app.get('/style.css', (context) => context.body(styleSheet, 200, { 'content-type': 'text/css' }));
  app.get('/', (context) => {
    const current = session(context);
    return current === null ? context.redirect('/account/sign-in', 303) : show(context, current, null);
  });
  addSignIn(app, service);
  app.post('/sign-out', async (context) => {
    const cookie = getCookie(context, cookieName);
    const current = session(context);
    const field = await fieldsOf(context);
    if (cookie !== undefined && current !== null && field('form_token') === current.formToken) {
      await service.signOut(cookie);
      deleteCookie(context, cookieName, { path: '/account' });
    }
    return context.redirect('/account/sign-in', 303);
  });

  const onForm = (path: string, run: (account: string, field: Field, key: number) => Promise<Outcome>): void => {
    app.post(path, async (context: Context<Web>) => {
      const current = session(context);
      if (current === null) return context.redirect('/account/sign-in', 303);
      const field = await fieldsOf(context);
      if (field('form_token') !== current.formToken) {
        return context.text('The form is too old: go back and reload.', 403);
      }
      return show(context, current, await run(current.account, field, Number(context.req.param('id'))));
    });
  };
  onForm('/keys/code', async (account) => {
    const sent = await service.sendCode(account, 'create_key');
    return {
      message: sent ? 'A one-time code is on its way to you.' : 'Too many codes were asked for. Try again in an hour.',
    };
  });
  onForm('/keys', (account, field) => service.createKey(account, field('name'), field('code')));
  onForm('/keys/:id/revoke', (account, _field, key) => service.revokeKey(account, key));
  onForm('/keys/:id/addresses', (account, field, key) => service.setAddresses(account, key, field('addresses')));
  onForm('/balances', (account, field) => service.addBalance(account, field('currency'), field('amount')));
  onForm('/shop', (account, field) => service.buy(account, field('variant'), field('currency')));
  return app;
}

function addSignIn(app: Hono<Web>, service: AccountService): void {
  app.get('/sign-in', (context) => context.html(signInPage(null, null)));
  app.post('/sign-in', async (context) => {
    const email = (await fieldsOf(context))('email').trim();
    const account = service.accountOfEmail(email);
    if (account !== undefined) await service.sendCode(account, 'sign_in');
    // The answer does not say whether there is such an account.
    return context.html(signInPage('If there is such an account, a one-time code is on its way to its holder.', email));
  });
  app.post('/session', async (context) => {
    const field = await fieldsOf(context);
    const email = field('email').trim();
    const cookie = await service.signIn(email, field('code'));
    if (cookie === null) return context.html(signInPage('The one-time code is wrong or too old.', email), 403);
    const options = { path: '/account', httpOnly: true, sameSite: 'Strict', maxAge: sessionLifetimeMs / 1000 } as const;
    setCookie(context, cookieName, cookie, options);
    return context.redirect('/account', 303);
  });
}

async function fieldsOf(context: Context<Web>): Promise<Field> {
  const body: Record<string, unknown> = await context.req.parseBody().catch(() => ({}));
  return (name) => {
    const value = Object.hasOwn(body, name) ? body[name] : undefined;
    return typeof value === 'string' ? value : '';
  };
}
