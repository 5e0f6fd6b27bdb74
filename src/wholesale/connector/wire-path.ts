import { assert } from '../../core/order-sync-error.ts';

/** Paths that the specification gives (Spec 4). They are not configurable. */
export const givenPaths = {
  giftCardOrder: '/orders',
  esimOrder: '/esim/orders',
  topups: '/esim/esims/{iccid}/topups',
  products: '/products',
} as const;

/** The names between braces in a path template. */
export function placeholdersOf(template: string): string[] {
  return [...template.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1] ?? '');
}

/** Whether a value can stand in a path: one of only dots would be read as a step in it. */
export function isPathPart(value: string): boolean {
  return value !== '' && !/^\.+$/.test(value);
}

/**
 * Puts values into a path template, percent-encoded, so that no value can add a path segment or a parameter. Fails
 * with INVARIANT on a value that is missing or that is no path part.
 */
export function fillPath(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{([^{}]*)\}/g, (_whole, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    assert(value !== undefined && isPathPart(value), `"${value}" cannot stand for {${name}} in the path ${template}`);
    return encodeURIComponent(value);
  });
}
