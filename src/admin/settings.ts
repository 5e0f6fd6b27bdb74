/** `viewer`: reads the pages. `operator`: also decides, and every decision is in the audit log under its name. */
export const adminRoles = ['viewer', 'operator'] as const;
export type AdminRole = (typeof adminRoles)[number];

/** Someone who signs in to the pages. */
export interface AdminToken {
  /** The name in the audit log. */
  readonly name: string;
  readonly role: AdminRole;
  /** Any of them is accepted, so that one can be replaced without an interruption. */
  readonly secrets: readonly string[];
}

/** Where health is answered, pages are shown and commands are taken. */
export interface AdminSettings {
  /** Port 0: any free port. */
  readonly listen: { readonly host: string; readonly port: number };
  /** Empty: no pages are shown, or in a trial those that allow no decisions. */
  readonly tokens: readonly AdminToken[];
  /** Further host names under which browsers reach the pages, for example that of a proxy. */
  readonly hosts: readonly string[];
  /** The API is the sandbox. Then pages are shown without tokens, where `listen` is reached from this machine alone. */
  readonly isTrial: boolean;
}
