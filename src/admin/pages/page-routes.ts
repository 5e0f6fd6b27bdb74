import { Hono, type Context } from 'hono';
import type { Logger } from 'pino';
import { isoTime, shortTime } from '../../core/clock.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { keptAnswer } from '../kept-answer.ts';
import { guardPages } from '../sign-in/guard-pages.ts';
import type { PageAccess } from '../sign-in/page-access.ts';
import type { PageEnv } from '../sign-in/visitor.ts';
import type { FormContext, PageSources } from './page-sources.ts';
import { assetRoutes } from '../html/assets.ts';
import { attentionPage, reviewPage } from './attention-page.ts';
import { auditPage, configPage, deliveriesPage } from './list-pages.ts';
import type { Html } from '../html/document.ts';
import { Notices, page, type PageFrame } from './layout.ts';
import { orderPage } from './order-page.ts';
import { ordersPage } from './orders-page.ts';
import { overviewPage } from './overview-page.ts';
import { refusedPage } from '../sign-in/sign-in-pages.ts';

/** The shared facts of every page may be so old, in ms. */
const keptForMs = 1000;
/** The count of the attention list ends here. */
const mostCounted = 1000;

interface PageOptions {
  readonly sources: PageSources;
  readonly access: PageAccess;
  /** Makes the routes of forms, whose pages look like the others. They run after the checks of `guardPages`. */
  readonly actions?: (show: ShowOutcome, notices: Notices) => Hono<PageEnv>;
  readonly logger: Logger;
}

/** A page about what became of a form. `returnTo`: the page that the form came from. */
export type ShowOutcome = (context: Context<PageEnv>, title: string, main: Html, returnTo: string) => Html;

/** The pages. They check every path that is not taken yet, so they come after all other routes of the address. */
export function pageRoutes({ sources, access, actions, logger }: PageOptions): Hono<PageEnv> {
  const routes = new Hono<PageEnv>();
  const { clock } = sources;
  const shared: SharedFacts = {
    attention: keptAnswer(() => attentionCount(sources), keptForMs, clock),
    stopped: keptAnswer(() => whyStopped(sources), keptForMs, clock),
    notices: new Notices(clock),
  };
  routes.route('/', assetRoutes());
  guardPages(routes, access);
  addPages(routes, sources, shared);
  if (actions !== undefined) {
    const show: ShowOutcome = (context, title, main, returnTo) =>
      page({ ...frameOf(sources, context, shared, false), here: returnTo }, title, main);
    routes.route('/', actions(show, shared.notices));
  }
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

function addPages(routes: Hono<PageEnv>, sources: PageSources, shared: SharedFacts): void {
  const show = (path: string, title: string, content: Content): void => {
    routes.get(path, async (context) => {
      const url = new URL(context.req.url);
      const main = await content(formContext(context), url);
      return await context.html(page(frameOf(sources, context, shared, true), title, main));
    });
  };
  show('/', 'Overview', (context) => overviewPage(sources, context));
  show('/attention', 'Attention', (context, url) => attentionPage(sources, context, url));
  show('/attention/review', 'Review', (context, url) => reviewPage(sources, context, url));
  show('/orders', 'Orders', (context, url) => ordersPage(sources, context, url));
  show('/deliveries', 'Deliveries', (context, url) => deliveriesPage(sources, context, url));
  show('/audit', 'Audit log', (_, url) => auditPage(sources, url));
  show('/config', 'Configuration', (_, url) => configPage(sources, url));
  routes.get('/orders/:source/:orderId', async (context) => {
    const { source, orderId } = context.req.param();
    const order = sources.read.showOrder(source, orderId);
    if (order === null) throw new OrderSyncError('NOT_FOUND', `The shop "${source}" has no order "${orderId}".`);
    const main = orderPage(sources, order, formContext(context), new URL(context.req.url));
    return await context.html(page(frameOf(sources, context, shared, true), `Order ${orderId}`, main));
  });
}

/** The facts that every page shows, read once for all pages. */
interface SharedFacts {
  readonly attention: () => string;
  readonly stopped: () => string | null;
  readonly notices: Notices;
}

type Content = (context: FormContext, url: URL) => Html | Promise<Html>;

function frameOf(sources: PageSources, context: Context<PageEnv>, shared: SharedFacts, live: boolean): PageFrame {
  const { instance, environment, version, clock } = sources;
  const { pathname, search } = new URL(context.req.url);
  const now = isoTime(clock.wallMs());
  const { visitor } = context.var;
  return {
    instance,
    environment,
    version,
    visitor,
    attention: shared.attention(),
    // The overview has the forms that change it, and reads the pauses anyway.
    stopped: pathname === '/' ? whyStopped(sources) : shared.stopped(),
    notice: shared.notices.of(visitor),
    here: pathname + search,
    now,
    live,
  };
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

function whyStopped({ read }: PageSources): string | null {
  const pause = read.pauses().find(({ scope }) => scope === 'account');
  if (pause === undefined) return null;
  const { reason, message, openedBy, sinceMs, probeAtMs } = pause;
  const why = [reason, message].filter((text) => text !== '').join(': ');
  const end =
    probeAtMs === null
      ? 'Only a person resumes it.'
      : 'The worker tries again by itself, and nothing is lost until then.';
  return `Nothing is bought: the account is paused since ${shortTime(isoTime(sinceMs))} by ${openedBy} (${why}). ${end}`;
}

const wantsPage = (context: Context): boolean => context.req.header('accept')?.includes('text/html') === true;
