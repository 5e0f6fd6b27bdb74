import { html } from 'hono/html';
import { type Html, htmlDocument } from '../html/document.ts';

interface SignInForm {
  /** The path that the visitor asked for. */
  readonly returnTo: string;
  readonly problem?: string;
  /** The page asks for itself once more: the browser has sent no cookie, because another site had the link. */
  readonly again?: boolean;
}

/** Asks for a token. */
export function signInPage({ returnTo, problem, again = false }: SignInForm): Html {
  return htmlDocument(
    'Sign in - order-sync',
    html`<main id="main" class="narrow">
<h1>Sign in to order-sync</h1>
${problem === undefined ? null : html`<p class="problem" role="alert">${problem}</p>`}
<form method="post" action="/sign-in" class="stack">
<input type="hidden" name="return_to" value="${returnTo}">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus maxlength="4096" spellcheck="false">
<button type="submit">Sign in</button>
</form>
<p class="hint">Tokens are in the configuration of the worker, under <code>admin.tokens</code>.</p>
</main>`,
    { again },
  );
}

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
