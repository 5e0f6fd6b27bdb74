import { Hono, type Context } from 'hono';
import { html } from 'hono/html';
import type { Logger } from 'pino';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { guardPages } from '../sign-in/guard-pages.ts';
import type { PageAccess } from '../sign-in/page-access.ts';
import type { PageEnv } from '../sign-in/visitor.ts';
import type { FormContext, PageSources } from './page-sources.ts';
import { attentionPage, reviewPage } from './attention-page.ts';
import { auditPage, configPage, deliveriesPage, ordersPage } from './list-pages.ts';
import { assetRoutes, type Html } from '../html/document.ts';
import { pageLayout, type ShowPage } from './layout.ts';
import { numbersCsv, numbersPage } from './numbers-page.ts';
import { orderPage } from './order-page.ts';
import { overviewPage } from './overview-page.ts';
import { orderPath } from './parts.ts';

interface PageOptions {
  readonly sources: PageSources;
  readonly access: PageAccess;
  /**
   * Makes the routes of forms, whose pages look like the others. They run after the checks of
   * `guardPages`.
   */
  readonly actions?: (show: ShowPage) => Hono<PageEnv>;
  readonly logger: Logger;
}

/**
 * The pages. They check every path that is not taken yet, so they come after all other routes of
 * the address.
 */
export function pageRoutes({ sources, access, actions, logger }: PageOptions): Hono<PageEnv> {
  const routes = new Hono<PageEnv>();
  const show = pageLayout(sources);
  routes.route('/', assetRoutes());
  guardPages(routes, access, sources);
  addPages(routes, sources, show);
  if (actions !== undefined) routes.route('/', actions(show));
  const problem = (context: Context<PageEnv>, title: string, why: string): Html =>
    show(
      context,
      title,
      html`<section class="card"><p>${why}</p><p><a class="button" href="/">To the overview</a> <a class="button" href="/orders">Find an order</a></p></section>`,
      '/',
    );
  routes.get('*', (context) =>
    wantsPage(context)
      ? context.html(problem(context, 'Page not found', 'There is no such page.'), 404)
      : context.notFound(),
  );
  routes.onError((error, context) => {
    const code = error instanceof OrderSyncError ? error.code : null;
    if (code === 'NOT_FOUND')
      return context.html(problem(context, 'Not found', error.message), 404);
    if (code === 'INVALID_INPUT')
      return context.html(problem(context, 'Not understood', error.message), 422);
    logger.error({ err: error, path: context.req.path }, 'a page failed');
    const why = 'The worker failed to make this page; its log has the reason.';
    return context.html(problem(context, 'The page failed', why), 500);
  });
  return routes;
}

type Content = (context: FormContext, url: URL) => Html | Promise<Html>;

function addPages(routes: Hono<PageEnv>, sources: PageSources, show: ShowPage): void {
  const add = (path: string, title: string, content: Content): void => {
    routes.get(path, async (context) => {
      const url = new URL(context.req.url);
      return context.html(show(context, title, await content(formContext(context, url), url)));
    });
  };
  add('/', 'Overview', async (context) => overviewPage(sources, context, await sources.troubles()));
  add('/attention', 'Attention', (context, url) => attentionPage(sources, context, url));
  add('/attention/review', 'Review', (context, url) => reviewPage(sources, context, url));
  add('/orders', 'Orders', (context, url) => ordersPage(sources, context, url));
  add('/deliveries', 'Deliveries', (context, url) => deliveriesPage(sources, context, url));
  add('/audit', 'Audit log', (_, url) => auditPage(sources, url));
  add('/config', 'Configuration', (context, url) => configPage(sources, context, url));
  // Counting costs more than other pages, so this one does not refresh itself.
  routes.get('/numbers', (context) => {
    const url = new URL(context.req.url);
    return context.html(
      show(context, 'Numbers', numbersPage(sources, url), url.pathname + url.search),
    );
  });
  routes.get('/numbers.csv', (context) => {
    context.header('content-type', 'text/csv; charset=utf-8');
    context.header('content-disposition', 'attachment; filename="numbers.csv"');
    return context.body(numbersCsv(sources, new URL(context.req.url)));
  });
  // The only order that fits is shown at once.
  routes.get('/find', (context) => {
    const { search = '' } = context.req.query();
    const [one, other] = sources.read.listOrders({ search, limit: 2 });
    const isOnly = one !== undefined && other === undefined;
    return context.redirect(
      isOnly ? orderPath(one.source, one.orderId) : `/orders?search=${encodeURIComponent(search)}`,
    );
  });
  routes.get('/orders/:source/:orderId', (context) => {
    const { source, orderId } = context.req.param();
    const order = sources.read.showOrder(source, orderId);
    if (order === null)
      throw new OrderSyncError('NOT_FOUND', `The shop "${source}" has no order "${orderId}".`);
    const url = new URL(context.req.url);
    return context.html(
      show(context, `Order ${orderId}`, orderPage(sources, order, formContext(context, url), url)),
    );
  });
}

const formContext = (
  { var: { visitor } }: Context<PageEnv>,
  { pathname, search }: URL,
): FormContext => ({
  visitor,
  returnTo: pathname + search,
});

const wantsPage = (context: Context): boolean =>
  context.req.header('accept')?.includes('text/html') === true;
