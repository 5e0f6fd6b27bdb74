type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** The same value with the keys of its objects in camelCase. Lists stay as they are. */
export type CamelKeys<Value> = Value extends readonly unknown[]
  ? Value
  : Value extends object
    ? { readonly [Key in keyof Value as Key extends string ? CamelCase<Key> : Key]: CamelKeys<Value[Key]> }
    : Value;

/** Turns the keys of the file into those of the code: `window_ms` is `windowMs`, also in sections within a section. */
export function camelKeys<Section extends object>(section: Section): CamelKeys<Section>;
export function camelKeys(section: object): unknown {
  return Object.fromEntries(
    Object.entries(section).map(([key, value]: [string, unknown]) => [
      key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      typeof value === 'object' && value !== null && !Array.isArray(value) ? camelKeys(value) : value,
    ]),
  );
}
