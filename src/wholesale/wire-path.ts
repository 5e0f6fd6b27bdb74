import { assert } from '../core/order-sync-error.ts';

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

/**
 * Puts values into a path template, percent-encoded, so that no value can add a path segment or a parameter. A value
 * of only dots would be read as a step in the path and is refused.
 */
export function fillPath(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{([^{}]*)\}/g, (_whole, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    assert(value !== undefined && value !== '', `the path ${template} needs a value for {${name}}`);
    assert(!/^\.+$/.test(value), `"${value}" cannot be a part of the path ${template}`);
    return encodeURIComponent(value);
  });
}
