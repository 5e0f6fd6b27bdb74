import type { Unit } from './order-answer.ts';

/** A name of a unit, and what it is in words that show nothing of it. */
interface UnitName {
  readonly name: string;
  readonly what: string;
}

/** Without a code, a PIN of so many characters is one; a shorter PIN counts with its code only. */
const shortestCode = 8;

/**
 * Letters and digits, in capitals: another answer may print the same code in another form. The units
 * of one answer are compared as they are printed (`judgeUnits`): there the API lists what it sold.
 */
const formOf = (text = ''): string =>
  text
    .normalize('NFKC')
    .toUpperCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '');

/** An address without its scheme; in its path capitals matter. */
function addressOf(text: string): string {
  const shown = URL.canParse(text) ? new URL(text).href : text.trim();
  return shown.replace(/^https?:/, '').replace(/\/+$/, '');
}

/** What a customer redeems, and the PIN beside it. */
function redeemedOf(unit: Unit): { readonly base: UnitName | null; readonly pin: string } {
  const pin = formOf(unit.pin);
  const code = formOf(unit.code);
  if (code !== '') return { base: { name: `code ${code}`, what: 'a code' }, pin };
  if (pin.length >= shortestCode) return { base: { name: `code ${pin}`, what: 'a PIN' }, pin: '' };
  // Beside a code, an address may be the same for all.
  if (unit.url === undefined) return { base: null, pin };
  return { base: { name: `link ${addressOf(unit.url)}`, what: 'a link' }, pin };
}

/**
 * The names by which a unit is known again in another order. `own` are those that it has; a unit
 * that has one of `same` is this one. Cards may share a number if each has a PIN of its own; a
 * number that was shown without a PIN is that of every card with it.
 */
export function namesOf(unit: Unit): {
  readonly own: readonly string[];
  readonly same: readonly UnitName[];
} {
  const esim: UnitName[] = [];
  if (unit.iccid !== undefined)
    esim.push({ name: `esim ${formOf(unit.iccid)}`, what: `the eSIM ${unit.iccid}` });
  const matching = formOf(unit.matching_id ?? unit.lpa?.split('$')[2]);
  if (matching !== '') esim.push({ name: `lpa ${matching}`, what: 'an activation code' });
  const { base, pin } = redeemedOf(unit);
  const names = esim.map(({ name }) => name);
  if (base === null) return { own: names, same: esim };
  const { name, what } = base;
  const alone = `${name} alone`;
  const whole = pin === '' ? alone : `${name} PIN ${pin}`;
  return {
    own: [whole, ...(pin === '' ? [] : [name]), ...names],
    same: [whole, pin === '' ? name : alone].map((it) => ({ name: it, what })).concat(esim),
  };
}
