import { Hono, type Context } from 'hono';
import type { Logger } from 'pino';
import { isoTime } from '../../core/clock.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { keptAnswer } from '../kept-answer.ts';
import { guardPages } from '../sign-in/guard-pages.ts';
import type { PageAccess } from '../sign-in/page-access.ts';
import type { PageEnv } from '../sign-in/visitor.ts';
import type { FormContext } from './action-forms.ts';
import { assetRoutes } from './assets.ts';
import type { Html } from './html.ts';
import { page, type PageFrame } from './layout.ts';
import { overviewPage } from './overview-page.ts';
import type { PageSources } from './page-sources.ts';
import { refusedPage } from './refused-page.ts';

/** The count of the attention list may be so old, in ms, and ends here. */
const countKeptForMs = 1000;
const mostCounted = 1000;

interface PageOptions {
  readonly sources: PageSources;
  readonly access: PageAccess;
  /** Routes of forms. They run after the checks of `guardPages`. */
  readonly actions?: Hono<PageEnv>;
  readonly logger: Logger;
}

/** The pages. They check every path that is not taken yet, so they come after all other routes of the address. */
export function pageRoutes({ sources, access, actions, logger }: PageOptions): Hono<PageEnv> {
  const routes = new Hono<PageEnv>();
  const attention = keptAnswer(() => attentionCount(sources), countKeptForMs, sources.clock);
  routes.route('/', assetRoutes());
  guardPages(routes, access);
  const show = (
    path: string,
    title: string,
    content: (context: FormContext, url: URL) => Html | Promise<Html>,
  ): void => {
    routes.get(path, async (context) => {
      const main = await content(formContext(context), new URL(context.req.url));
      return await context.html(page(frameOf(sources, context, attention()), title, main));
    });
  };
  show('/', 'Overview', (context) => overviewPage(sources, context));
  if (actions !== undefined) routes.route('/', actions);
  routes.get('*', (context) =>
    wantsPage(context) ? context.html(refusedPage('There is no such page.'), 404) : context.notFound(),
  );
  routes.onError((error, context) => {
    const code = error instanceof OrderSyncError ? error.code : null;
    if (code === 'NOT_FOUND' || code === 'INVALID_INPUT') {
      return context.html(refusedPage(error.message), code === 'NOT_FOUND' ? 404 : 422);
    }
    logger.error({ err: error, path: context.req.path }, 'a page failed');
    return context.html(refusedPage('The worker failed; its log has the reason.'), 500);
  });
  return routes;
}

function frameOf(sources: PageSources, context: Context<PageEnv>, attention: string): PageFrame {
  const { instance, environment, version, clock } = sources;
  const { pathname, search } = new URL(context.req.url);
  const now = isoTime(clock.wallMs());
  return { instance, environment, version, visitor: context.var.visitor, attention, here: pathname + search, now };
}

function formContext(context: Context<PageEnv>): FormContext {
  const { pathname, search } = new URL(context.req.url);
  return { visitor: context.var.visitor, returnTo: pathname + search };
}

function attentionCount({ read }: PageSources): string {
  const counts = Object.values(read.attentionCounts({}, mostCounted + 1));
  const total = counts.reduce((sum, count) => sum + count, 0);
  return total > mostCounted ? `${mostCounted}+` : String(total);
}

const wantsPage = (context: Context): boolean => context.req.header('accept')?.includes('text/html') === true;
