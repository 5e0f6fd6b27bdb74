import { hash } from 'node:crypto';

/** Digests of what tells one customer from another; null: the order does not say. */
export interface Customer {
  readonly email: string | null;
  readonly phone: string | null;
}

const email = /^(?:customer|buyer|billing|contact)?e?mail(?:address)?$/;
const phone = /^(?:customer|buyer|billing|contact)?(?:tele)?phone(?:number)?$/;
const person = /^(?:customer|buyer|billing|contact)(?:address)?$/;

/** `Name+shop@Example.com` and `name@example.com` reach the same customer. */
function plainEmail(value: unknown): string | null {
  const text = typeof value === 'string' ? value.normalize('NFKC').trim().toLowerCase() : '';
  const [, name = '', domain = ''] = /^([^@+]+)(?:\+[^@]*)?@([^@\s]+)$/.exec(text) ?? [];
  return name === '' ? null : hash('sha256', `${name}@${domain}`);
}

/** A number is written with and without the prefix of its country. */
function plainPhone(value: unknown): string | null {
  const digits = String(value).replaceAll(/\D/g, '');
  return digits.length < 6 ? null : hash('sha256', digits.slice(-9));
}

/**
 * The customer that these fields of an order name: the columns of a file, its metadata, or an order
 * as its shop shows it.
 */
export function customerIn(fields: Readonly<Record<string, unknown>>): Customer {
  const named = Object.entries(fields).map(
    ([name, value]) => [name.toLowerCase().replaceAll(/[\s_-]/g, ''), value] as const,
  );
  const within = named.flatMap(([name, value]) =>
    person.test(name) && typeof value === 'object' && value !== null
      ? customerIn({ ...value })
      : [],
  );
  const first = (names: RegExp, plain: (value: unknown) => string | null) =>
    named.flatMap(([name, value]) => (names.test(name) ? (plain(value) ?? []) : []))[0] ?? null;
  return {
    email: first(email, plainEmail) ?? within.find((one) => one.email !== null)?.email ?? null,
    phone: first(phone, plainPhone) ?? within.find((one) => one.phone !== null)?.phone ?? null,
  };
}
