import type { HttpBindings } from '@hono/node-server';
import type { AdminRole } from '../settings.ts';

/** Who asks for a page. */
export interface Visitor {
  /** The name of the token; null: there are no tokens, and whoever uses this machine may look. */
  readonly name: string | null;
  readonly role: AdminRole;
  /** What every form of this session carries in the field `csrf`; null: without tokens nothing can be posted. */
  readonly csrf: string | null;
}

/** The types of the routes of pages. */
export interface PageEnv {
  Bindings: HttpBindings;
  Variables: { visitor: Visitor };
}
