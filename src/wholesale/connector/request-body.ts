import { z } from 'zod';
import { assert } from '../../core/order-sync-error.ts';

/** The values that a request can have, by the names of their placeholders. */
type RequestValues = Readonly<Record<string, string | number | null>>;
type Json = z.output<ReturnType<typeof z.json>>;

const wholeText = /^\{([a-z]+)(?:\|(int|text|lower))?\}$/;
/** The names that the specification gives to fields (Spec 2, 4). */
const givenNames = ['reference', 'quantity', 'days'];

interface Placeholder {
  readonly name: string;
  /** Where it stands; the last segment is the name of its field. */
  readonly path: readonly (string | number)[];
}

function textsIn(
  tree: unknown,
  path: readonly (string | number)[] = [],
): { text: string; path: Placeholder['path'] }[] {
  if (typeof tree === 'string') return [{ text: tree, path }];
  if (Array.isArray(tree))
    return tree.flatMap((inner: unknown, index) => textsIn(inner, [...path, index]));
  if (typeof tree !== 'object' || tree === null) return [];
  return Object.entries(tree).flatMap(([name, inner]) => textsIn(inner, [...path, name]));
}

/** Every placeholder of a body, with the path of its field. */
export function placeholdersIn(tree: unknown): readonly Placeholder[] {
  return textsIn(tree).flatMap(({ text, path }) => {
    const name = wholeText.exec(text)?.[1];
    return name === undefined ? [] : [{ name, path }];
  });
}

/** What is wrong with one text of a body; null: nothing. */
function problemOf(
  text: string,
  path: Placeholder['path'],
  known: readonly string[],
): string | null {
  const [, name] = wholeText.exec(text) ?? [];
  const all = known.map((one) => `{${one}}`).join(', ');
  if (name === undefined) {
    if (!/[{}]/.test(text)) return null;
    return `has a placeholder in a longer text: it must be the whole text, as {variant} or {variant|int}; the placeholders are ${all}`;
  }
  if (!known.includes(name)) return `must be one of ${all}`;
  const field = path.at(-1);
  if (givenNames.includes(name) && field !== name)
    return `must be the value of a field "${name}": the specification fixes the name of this field`;
  return null;
}

/**
 * The body of a request as it is sent, with placeholders for whole values: `{variant}`;
 * `{variant|int}` as a JSON number, `{quantity|text}` as text, `{currency|lower}` in small letters.
 * A field of which the value is unknown is left out.
 * @param required placeholders that must be in it, each once
 */
export const bodyTree = (known: readonly string[], required: readonly string[]) =>
  z.record(z.string(), z.json()).superRefine((tree, context) => {
    for (const { text, path } of textsIn(tree)) {
      const message = problemOf(text, path, known);
      if (message !== null) context.addIssue({ code: 'custom', path: [...path], message });
    }
    const found = placeholdersIn(tree).map(({ name }) => name);
    const missing = required.find((name) => found.filter((one) => one === name).length !== 1);
    if (missing !== undefined)
      context.addIssue({ code: 'custom', message: `must have {${missing}} once` });
  });

function valueOf(text: string, values: RequestValues): Json {
  const [, name, form] = wholeText.exec(text) ?? [];
  if (name === undefined) return text;
  const value = values[name] ?? null;
  assert(
    (value !== null && value !== '') || name === 'days',
    `the request has a value for {${name}}`,
  );
  if (value === null || form === undefined) return value;
  if (form !== 'int') return form === 'text' ? String(value) : String(value).toLowerCase();
  assert(
    /^\d{1,15}$/.test(String(value)),
    `"${value}" is a whole number, as {${name}|int} requires`,
  );
  return Number(value);
}

/** The exact body. The order of the fields is that of the tree: the bytes must not vary. */
export function renderBody(tree: Readonly<Record<string, Json>>, values: RequestValues): string {
  const fill = (inner: Json): Json => {
    if (typeof inner === 'string') return valueOf(inner, values);
    if (Array.isArray(inner)) return inner.map(fill);
    if (typeof inner !== 'object' || inner === null) return inner;
    const fields = Object.entries(inner).map(([name, value]): [string, Json] => [
      name,
      fill(value),
    ]);
    // A constant may be null; a placeholder without a value is no field.
    return Object.fromEntries(
      fields.filter(([name, value]) => value !== null || inner[name] === null),
    );
  };
  return JSON.stringify(fill(tree));
}
