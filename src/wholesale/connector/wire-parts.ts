import { z } from 'zod';
import { assert } from '../../core/order-sync-error.ts';

/** Paths that the specification gives (Spec 4). They cannot be configured. */
export const givenPaths = {
  giftCardOrder: '/orders',
  esimOrder: '/esim/orders',
  products: '/products',
  topups: '/esim/esims/{iccid}/topups',
} as const;

const placeholder = /\{([^{}]*)\}/g;

/**
 * A path below the base address, as a config may give it; it may contain these placeholders and no
 * others.
 */
export function pathTemplate(...placeholders: readonly string[]) {
  const shown = placeholders.map((name) => `{${name}}`).join(', ');
  return z
    .string()
    .regex(/^\/(?!\/)[!-~]*$/, 'must start with a single "/" and have no spaces')
    .regex(/^[^#\\]*$/, 'must not contain "#" or "\\"')
    .refine(
      (path) =>
        [...path.matchAll(placeholder)].every(([, name = '']) => placeholders.includes(name)),
      {
        error: shown === '' ? 'must have no placeholder' : `may have no placeholder but ${shown}`,
      },
    );
}

/** Whether a value can stand in a path. A value of only dots would be read as a step up or down. */
export function isPathPart(value: string): boolean {
  return value !== '' && !/^\.+$/.test(value);
}

/**
 * Puts values into a path template, percent-encoded: no value can add a path segment or a
 * parameter. Fails with INVARIANT on a value that is missing or that cannot stand in a path.
 */
export function fillPath(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(placeholder, (_whole, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    assert(
      value !== undefined && isPathPart(value),
      `"${value}" cannot replace {${name}} in the path ${template}`,
    );
    return encodeURIComponent(value);
  });
}

const withoutPosition = [
  /^(?!(.*\.)?\d+(\.|$))/,
  'must not have a list index: every item of a list is read',
] as const;

/**
 * Where a value may be in an answer, best first, as dotted paths with spaces between; with an empty
 * list it is never read.
 */
export const candidates = (paths: string) =>
  z
    .array(
      z
        .string()
        .regex(/^(\$|[^\s.]+(\.[^\s.]+)*)$/, 'must be a dotted path such as order.total, or $')
        .regex(...withoutPosition)
        .regex(
          /^[^[\]]*$/,
          'must not contain a list: the path of a field of a unit starts inside the unit',
        ),
    )
    .max(50)
    .default(paths.split(' '));

const placeOfList = z
  .string()
  .regex(
    /^(\$|[^\s.[\]]+(\[\])?(\.[^\s.[\]]+(\[\])?)*)$/,
    'must be a dotted path such as order.codes, or items[].codes',
  )
  .regex(...withoutPosition);

/**
 * The same for lists: `items[].codes` are the lists of all elements, and `codes[]` the values of an
 * object.
 */
export const lists = (paths: string) => z.array(placeOfList).max(50).default(paths.split(' '));

export const words = (defaults: string) =>
  z.array(z.string().min(1).max(64)).max(100).default(defaults.split(' '));
