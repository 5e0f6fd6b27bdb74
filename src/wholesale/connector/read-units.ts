import { type ExactJson, isJsonList, isJsonObject } from '../../core/exact-json.ts';
import type { Unit } from '../../core/answers/order-answer.ts';
import {
  addressIn,
  firstAt,
  iccidIn,
  listIn,
  pictureIn,
  textIn,
  unreadFieldsOf,
  valueAt,
} from './answer-values.ts';
import type { AnswerWire } from './wire-answer.ts';

/**
 * The parts of an eSIM's activation code, `LPA:1$<SM-DP+ address>$<matching
 * id>[$<OID>[$<confirmation flag>]]`.
 */
interface ActivationCode {
  readonly lpa: string | null;
  readonly smdp_address: string | null;
  readonly matching_id: string | null;
}

/** The activation code in its full form; null for a host name, an address or a picture. */
function activationCodeIn(value: ExactJson): string | null {
  const text = typeof value === 'string' ? value.trim() : '';
  if (/^LPA:1\$[^$\s]+\$\S*$/i.test(text)) return text;
  // Some suppliers omit the prefix.
  return /^1\$[^$\s]+\$\S*$/.test(text) ? `LPA:${text}` : null;
}

/** A bare SM-DP+ address; null for anything else. Some suppliers show it with a scheme. */
function smdpAddressIn(value: ExactJson): string | null {
  const text = typeof value === 'string' ? value.trim() : '';
  const bare = text.replace(/^https?:\/\//i, '').replace(/\/+$/, '');
  return /^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(:\d{1,5})?$/.test(bare) ? bare : null;
}

/** Fills in what is missing: the code from its parts, or the parts from the code. */
function completeActivationCode(
  known: ActivationCode,
  confirmationCode: string | null,
): ActivationCode {
  if (known.lpa !== null) {
    const [, smdp = '', matching = ''] = known.lpa.split('$');
    return {
      lpa: known.lpa,
      smdp_address: known.smdp_address ?? (smdp === '' ? null : smdp),
      matching_id: known.matching_id ?? (matching === '' ? null : matching),
    };
  }
  if (known.smdp_address === null || known.matching_id === null) return known;
  // The fifth part tells the phone to ask for the confirmation code.
  const flag = confirmationCode === null ? '' : '$$1';
  return { ...known, lpa: `LPA:1$${known.smdp_address}$${known.matching_id}${flag}` };
}

type Field = Exclude<keyof Unit, 'status'>;

/**
 * A unit with the fields that were found; null without any, or without one that the mapping
 * requires.
 */
function unitOf(
  fields: Readonly<Partial<Record<Field, string | null>>>,
  status: string | null,
  required: readonly Field[],
): Unit | null {
  const present = Object.entries(fields).filter(([, value]) => value !== null);
  if (present.length === 0) return null;
  if (required.some((name) => (fields[name] ?? null) === null)) return null;
  return Object.fromEntries(status === null ? present : [...present, ['status', status]]);
}

const pictureKinds = [
  ['iVBOR', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lG', 'image/gif'],
  ['PHN2', 'image/svg+xml'],
] as const;

/** The address of a code that is a picture, as `data:` or http(s); null for a code that is text. */
function pictureCode(code: string, type: string | null): string | null {
  if (type === null || !/^(image\/|code_image$|image$)/i.test(type)) return null;
  if (/^(data:|https?:)/i.test(code)) return pictureIn(code);
  const known = pictureKinds.find(([start]) => code.startsWith(start))?.[1];
  const kind = /^image\/[a-z0-9.+-]+$/i.test(type)
    ? type.toLowerCase()
    : (known ?? 'application/octet-stream');
  return `data:${kind};base64,${code}`;
}

function codeUnit(element: ExactJson, wire: AnswerWire['codes']): Unit | null {
  if (typeof element === 'string') return unitOf({ code: textIn(element) }, null, wire.required);
  if (!isJsonObject(element)) return null;
  const text = (paths: readonly string[]): string | null => firstAt(element, paths, textIn);
  const type = text(wire.type);
  if (type !== null && wire.undelivered_types.includes(type.toLowerCase())) return null;
  const found = text(wire.code);
  const picture = found === null ? null : pictureCode(found, type);
  const code = picture === null ? found : null;
  const serial = text(wire.serial);
  const url = picture ?? firstAt(element, wire.url, addressIn);
  const pin = text(wire.pin);
  // An expiry date or a serial number alone cannot be redeemed.
  if (code === null && url === null && pin === null) return null;
  return unitOf(
    { code, pin, serial: serial === code ? null : serial, url, expires_at: text(wire.expires_at) },
    text(wire.status),
    wire.required,
  );
}

function esimUnit(element: ExactJson, wire: AnswerWire['esims']): Unit | null {
  if (typeof element === 'string') return unitOf({ iccid: iccidIn(element) }, null, wire.required);
  if (!isJsonObject(element)) return null;
  const text = (paths: readonly string[]): string | null => firstAt(element, paths, textIn);
  const iccid = firstAt(element, wire.iccid, iccidIn);
  // An ICCID field with another value is a placeholder: the eSIM is not delivered yet.
  if (iccid === null && text(wire.iccid) !== null) return null;
  const confirmation = text(wire.confirmation_code);
  const activation = completeActivationCode(
    {
      lpa: firstAt(element, wire.lpa, activationCodeIn),
      smdp_address: firstAt(element, wire.smdp_address, smdpAddressIn),
      matching_id: text(wire.matching_id),
    },
    confirmation,
  );
  if (iccid === null && activation.lpa === null) return null;
  return unitOf(
    {
      iccid,
      ...activation,
      confirmation_code: confirmation,
      qr_url: firstAt(element, wire.qr_url, pictureIn),
      apple_install_url: firstAt(element, wire.apple_install_url, addressIn),
      expires_at: text(wire.expires_at),
    },
    text(wire.status),
    wire.required,
  );
}

/**
 * The elements of a list. An element that has a list of its own counts as the elements of that one.
 */
function elementsOf(value: ExactJson, lists: readonly string[]): readonly ExactJson[] {
  // A code has no line break: a text with several lines is a list of codes.
  const elements = isJsonList(value)
    ? value
    : typeof value === 'string'
      ? value.split(/[\r\n]+/)
      : [value];
  return elements.flatMap(
    (element) => (isJsonObject(element) ? firstAt(element, lists, listIn) : null) ?? [element],
  );
}

/**
 * The elements at a path in which `[]` stands for all elements of a list, or all values of an
 * object.
 */
function elementsAt(value: ExactJson, [segment, ...rest]: readonly string[]): readonly ExactJson[] {
  if (segment === undefined) return isJsonList(value) ? value : [value];
  const inner = valueAt(value, segment.replace('[]', ''));
  if (inner === undefined || inner === null) return [];
  const all = segment.endsWith('[]')
    ? typeof inner === 'object'
      ? Object.values(inner)
      : []
    : [inner];
  return all.flatMap((each) => elementsAt(each, rest));
}

/** Lists of units within the positions of an order. */
function elementsOfPositions(value: ExactJson, lists: readonly string[]): readonly ExactJson[] {
  const positions = isJsonList(value) ? value : [value];
  return positions.flatMap(
    (position) => firstAt(position, lists, (list) => elementsOf(list, lists)) ?? [],
  );
}

/** The units of an order, and the names of their fields that were not read. */
export interface ReadUnits {
  readonly units: readonly Unit[];
  readonly unreadFields: readonly string[];
}

type ReadElement = { readonly element: ExactJson; readonly unit: Unit | null };
type UnitWire = Pick<AnswerWire['codes'], 'lists' | 'positions' | 'ignored'> &
  Readonly<Record<string, unknown>>;

/** The names under which a mapping looks for something. */
function namesIn(wire: UnitWire): readonly string[] {
  const paths = Object.values(wire).flatMap((value): readonly unknown[] =>
    Array.isArray(value) ? value : [],
  );
  return paths.flatMap((path) => (typeof path === 'string' ? (path.split('.')[0] ?? []) : []));
}

/**
 * Reads the first list that has units; without any, the elements of every list are still looked at.
 */
function unitsIn(
  order: ExactJson,
  wire: UnitWire,
  read: (element: ExactJson) => Unit | null,
): ReadUnits {
  const seen: ReadElement[] = [];
  const unitsOf = (elements: readonly ExactJson[]): readonly ReadElement[] | null => {
    const all = elements.map((element) => ({ element, unit: read(element) }));
    seen.push(...all);
    return all.some(({ unit }) => unit !== null) ? all : null;
  };
  const { lists, positions, ignored } = wire;
  const inLists = lists
    .filter((path) => path.includes('[]'))
    .map((path) => unitsOf(elementsAt(order, path.split('.'))));
  const found =
    firstAt(order, lists, (value) => unitsOf(elementsOf(value, lists))) ??
    inLists.find((units) => units !== null) ??
    firstAt(order, positions, (value) => unitsOf(elementsOfPositions(value, lists))) ??
    seen;
  const units = found.flatMap(({ unit }) => unit ?? []);
  const candidates = found.some(({ unit }) => unit === null) ? namesIn(wire) : [];
  return { units, unreadFields: unreadFieldsOf(found, { ignored, candidates }) };
}

/** The codes that an order delivered, without those that are only announced. */
export function readCodeUnits(order: ExactJson, wire: AnswerWire['codes']): ReadUnits {
  const ignored = [...wire.ignored, ...wire.type, ...wire.status];
  return unitsIn(order, { ...wire, ignored }, (element) => codeUnit(element, wire));
}

/** The eSIMs of an order: those of its list, or the single one that it is or contains. */
export function readEsimUnits(order: ExactJson, wire: AnswerWire['esims']): ReadUnits {
  const ignored = [...wire.ignored, ...wire.status];
  const listed = unitsIn(order, { ...wire, ignored }, (element) => esimUnit(element, wire));
  if (listed.units.length > 0) return listed;
  for (const path of wire.single) {
    const element = valueAt(order, path);
    const unit = isJsonObject(element) ? esimUnit(element, wire) : null;
    if (element === undefined || unit === null) continue;
    // Where the order is the eSIM, its other fields are those of the order.
    const seen = path === '$' ? [] : [{ element, unit }];
    return { units: [unit], unreadFields: unreadFieldsOf(seen, { ignored, candidates: [] }) };
  }
  return listed;
}
