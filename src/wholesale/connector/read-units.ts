import type { Unit } from '../../core/decision/order-answer.ts';
import { activationCodeIn, completeActivationCode, smdpAddressIn } from './activation-code.ts';
import { isJsonObject, type ExactJson } from '../../core/exact-json.ts';
import { addressIn, firstAt, iccidIn, listIn, pictureIn, textIn, valueAt } from './answer-values.ts';
import type { AnswerWire } from './wire-answer.ts';

type Field = Exclude<keyof Unit, 'status'>;

/** A unit of what was found; null when nothing of it, or not all that the mapping requires, was there. */
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

/** A code that is a picture becomes a data address; null for a code that is text. */
function pictureCode(code: string, type: string | null): string | null {
  if (type === null || !/^(image\/|code_image$|image$)/i.test(type)) return null;
  if (/^(data:|https?:)/i.test(code)) return pictureIn(code);
  const known = pictureKinds.find(([start]) => code.startsWith(start))?.[1];
  const kind = /^image\/[a-z0-9.+-]+$/i.test(type) ? type.toLowerCase() : (known ?? 'application/octet-stream');
  return `data:${kind};base64,${code}`;
}

function codeUnit(element: ExactJson, wire: AnswerWire['codes']): Unit | null {
  if (typeof element === 'string') {
    return unitOf({ code: textIn(element) }, null, wire.required);
  }
  if (!isJsonObject(element)) return null;
  const text = (paths: readonly string[]): string | null => firstAt(element, paths, textIn);
  const type = text(wire.type);
  if (type !== null && wire.undelivered_types.includes(type.toLowerCase())) return null;
  const found = text(wire.code);
  const drawn = found === null ? null : pictureCode(found, type);
  const code = drawn === null ? found : null;
  const serial = text(wire.serial);
  const url = drawn ?? firstAt(element, wire.url, addressIn);
  const pin = text(wire.pin);
  // An expiry date or a serial number alone is no delivery: there is nothing to redeem.
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
  // It has an ICCID field, and in it something else: the eSIM is not there yet.
  if (iccid === null && text(wire.iccid) !== null) return null;
  const confirmation = text(wire.confirmation_code);
  const activation = completeActivationCode(
    {
      lpa: firstAt(element, wire.lpa, (value) => (typeof value === 'string' ? activationCodeIn(value) : null)),
      smdpAddress: firstAt(element, wire.smdp_address, (value) =>
        typeof value === 'string' ? smdpAddressIn(value) : null,
      ),
      matchingId: text(wire.matching_id),
    },
    confirmation,
  );
  if (iccid === null && activation.lpa === null) return null;
  return unitOf(
    {
      iccid,
      lpa: activation.lpa,
      smdp_address: activation.smdpAddress,
      matching_id: activation.matchingId,
      confirmation_code: confirmation,
      qr_url: firstAt(element, wire.qr_url, pictureIn),
      apple_install_url: firstAt(element, wire.apple_install_url, addressIn),
      expires_at: text(wire.expires_at),
    },
    text(wire.status),
    wire.required,
  );
}

/** The elements of a list, where one order may keep a list in each of its positions. */
function elementsOf(value: ExactJson, lists: readonly string[]): readonly ExactJson[] {
  const elements = Array.isArray(value) ? value : [value];
  return elements.flatMap((element: ExactJson) => {
    const inner = isJsonObject(element) ? firstAt(element, lists, listIn) : null;
    return inner ?? [element];
  });
}

function unitsIn(
  order: ExactJson,
  lists: readonly string[],
  read: (element: ExactJson) => Unit | null,
): readonly Unit[] {
  for (const path of lists) {
    const value = valueAt(order, path);
    if (value === undefined || value === null) continue;
    const units = elementsOf(value, lists)
      .map(read)
      .filter((unit) => unit !== null);
    if (units.length > 0) return units;
  }
  return [];
}

/** The codes that an order delivered; what is promised but not there is left out. */
export function readCodeUnits(order: ExactJson, wire: AnswerWire['codes']): readonly Unit[] {
  return unitsIn(order, wire.lists, (element) => codeUnit(element, wire));
}

/** The eSIMs of an order: those of its list, or the single one that it is or holds. */
export function readEsimUnits(order: ExactJson, wire: AnswerWire['esims']): readonly Unit[] {
  const listed = unitsIn(order, wire.lists, (element) => esimUnit(element, wire));
  if (listed.length > 0) return listed;
  for (const path of wire.single) {
    const value = valueAt(order, path);
    const unit = isJsonObject(value) ? esimUnit(value, wire) : null;
    if (unit !== null) return [unit];
  }
  return [];
}
