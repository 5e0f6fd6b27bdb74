import { z } from 'zod';

/** A name of at most `max` UTF-16 code units that fits in a line of text. */
export const identifier = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^\P{Cc}+$/u, 'must not contain control characters')
    .regex(/^\S(.*\S)?$/s, 'must not begin or end with a space');

/**
 * Characters that a person cannot see, or cannot tell from a space. All that Unicode lets a program leave out when it
 * shows a text (`Default_Ignorable_Code_Point`), all that formats, divides or spaces text, and three symbols that are
 * blank: U+2800, U+16FE4 and U+1D159.
 */
const unseen = String.raw`\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cs}\p{Z}\u2800\u{16fe4}\u{1d159}`;
const onlySeen = new RegExp(`^(?: |[^${unseen}])*$`, 'u');
const firstUnseen = new RegExp(`(?! )[${unseen}]`, 'u');

function unseenRule(id: unknown): string {
  const found = typeof id === 'string' ? firstUnseen.exec(id) : null;
  if (found === null) return 'must not contain invisible characters';
  const name = (found[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const place = `U+${name} after ${found.index} characters`;
  return `must not contain invisible characters or other spaces than U+0020, but has ${place}: remove it at its source`;
}

/**
 * The id of an order or a line. Ids are compared character by character: an invisible character, or a letter that can
 * be written in two ways, could give the same order a second id, and it would be bought again.
 */
const identity = (max: number) =>
  identifier(max)
    .regex(onlySeen, { error: ({ input }) => unseenRule(input) })
    .refine((text) => text === text.normalize('NFC'), 'must be in the composed form of Unicode (NFC)');

export const orderIdSchema = identity(128);
export const lineIdSchema = identity(64);
