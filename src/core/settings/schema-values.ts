import { z } from 'zod';
import { sourceSchema } from '../order/order-request.ts';

type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** The section with its keys in camelCase. A section within it is turned by its own schema. */
type CamelKeys<Section> = {
  readonly [Key in keyof Section as Key extends string
    ? CamelCase<Key>
    : Key]: Section[Key] extends (infer Item)[] ? readonly Item[] : Section[Key];
};

/** Turns the keys of the file that are set into those of the code: `window_ms` is `windowMs`. */
function camelKeys<Section extends object>(section: Section): CamelKeys<Section>;
function camelKeys(section: object): unknown {
  const given = Object.entries(section).filter(([, value]) => value !== undefined);
  const entries = given.map(([key, value]: [string, unknown]) => {
    return [key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()), value] as const;
  });
  return Object.fromEntries(entries);
}

type Keys = z.core.$ZodLooseShape;

/** Some keys of the file, as the code names them. */
export const keysOf = <Shape extends Keys>(keys: Shape) =>
  z.strictObject(keys).transform((value) => camelKeys(value));

/** A section that need not be in the file: each of its keys has a default, or may be unset. */
export const section = <Shape extends Keys>(description: string, keys: Shape) =>
  keysOf(keys)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema itself checks the empty section
    .prefault({} as never)
    .describe(description);

/** A list of entries, which is empty where it is not in the file. */
export const listOf = <Shape extends Keys>(most: number, description: string, keys: Shape) =>
  z.array(keysOf(keys)).max(most).prefault([]).describe(description);

/** Null where the key is not set. */
export const orNull = <Value extends z.ZodType>(value: Value) =>
  value.optional().transform((given) => given ?? null);

/**
 * Whether this is an absolute http(s) URL without credentials, query or fragment: a URL is logged.
 */
export function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return false;
  return url.username === '' && url.password === '' && url.search === '' && url.hash === '';
}

/**
 * A value that may be an address, for people: without user, password, query and fragment, which may
 * be secrets.
 */
export function withoutUrlSecrets(text: string): string {
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0] ?? '';
  const at = text.lastIndexOf('@');
  const hasUser = at >= 0 && (scheme !== '' || text.slice(0, at).includes(':'));
  const plain = hasUser ? `${scheme}***@${text.slice(at + 1)}` : text;
  return scheme === '' ? plain : plain.replace(/([?#]).*$/s, '$1***');
}

const ipv4Loopback = /^127(?:\.(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])){3}$/;

/**
 * Whether traffic to this host stays on this machine. A name such as `x.localhost` may be resolved
 * to another one.
 */
export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  return host === 'localhost' || host === '::1' || ipv4Loopback.test(host);
}

export const durationMs = (min: number, max: number) => z.int().min(min).max(max);

export const count = (min: number, max: number) => z.int().min(min).max(max);

/**
 * A path. `config` finds all by this mark and makes them absolute: a relative one starts at the
 * working directory.
 */
export const pathText = z.string().min(1).max(4096).meta({ path: true });

/** A path that `config` always sets: its default depends on other keys. */
export const usualPath = (description: string) =>
  pathText
    .optional()
    .transform((given) => given ?? '')
    .describe(description);

/**
 * A file with certificates in PEM. `config` finds all by this mark, and puts their content in the
 * place of the path.
 */
export const certificatesFile = (description: string) =>
  z
    .string()
    .min(1)
    .optional()
    .meta({ path: true, certificates: true })
    .transform((pem) => pem ?? null)
    .describe(description);

export const keyName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9_-]{0,31}$/,
    'must be 1 to 32 characters of a-z 0-9 _ - and start with a letter or digit',
  );

export const httpUrl = z
  .string()
  .refine(
    isHttpUrl,
    'must be an http or https address without user, query or fragment, for example "https://api.example.com/v1"',
  );

export const someSources = z.array(sourceSchema).min(1).max(100);

/** A group of this machine; its number must be in quotes. */
export const groupName = z
  .string()
  .regex(
    /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/,
    'must be the name of a group, or its number in quotes',
  );

/** `host:port`, with brackets around an IPv6 host. */
export const listenAddress = z
  .string()
  .regex(/^(\[[0-9a-fA-F:.]+\]|[^:\s[\]]+):\d{1,5}$/, {
    error: 'must be host:port, for example "127.0.0.1:9090"',
    abort: true,
  })
  .refine(
    (text) => Number(text.slice(text.lastIndexOf(':') + 1)) <= 65_535,
    'must have a port from 0 to 65535',
  )
  .transform((text) => {
    const colon = text.lastIndexOf(':');
    return {
      host: text.slice(0, colon).replace(/^\[|\]$/g, ''),
      port: Number(text.slice(colon + 1)),
    };
  });

/**
 * A secret, or `file:` and the path of the file that holds it: never printed. `config` finds all
 * secrets by this mark, and puts the content of the file in the place of its path.
 */
export const secretText = (need: 'required' | 'optional') =>
  z
    .string()
    .min(1)
    .max(4096)
    .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
    .optional()
    .transform((secret = '') => (secret.startsWith(filePrefix) ? '' : secret))
    .meta({ secret: need });

export const filePrefix = 'file:';

/** The key of an entry that has one secret. */
export const secretValue = (description: string) => ({
  value: secretText('required').describe(description),
});

export const tokenValue = secretValue('At least 16 characters.');

/** Secrets of which each is accepted, or signs, so that one can be replaced without a gap. */
export const secretsOf = (least: number, most: number, description: string) =>
  z
    .array(z.strictObject(secretValue(description)))
    .min(least)
    .max(most)
    .transform((entries) => entries.map(({ value }) => value));

/** Tokens with all their secrets: those of one name are the old and the new one of a rotation. */
export function rotated<Token extends { readonly name: string; readonly value: string }>(
  tokens: readonly Token[],
) {
  const secretsOfName = (name: string) =>
    tokens.filter((token) => token.name === name).map(({ value }) => value);
  const isFirst = (token: Token) => tokens.find(({ name }) => name === token.name) === token;
  return tokens.filter(isFirst).map(({ value: _value, ...token }) => {
    return { ...token, secrets: secretsOfName(token.name) };
  });
}

/**
 * Marks a key or a section that a reload changes. A key without a mark, and outside of such a
 * section, needs a restart.
 */
export const live = { reload: 'live' } as const;
