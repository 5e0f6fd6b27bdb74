import type { ExactJson } from '../../core/exact-json.ts';

/** The parts of an eSIM's activation code, `LPA:1$<SM-DP+ address>$<matching id>[$<OID>[$<confirmation flag>]]`. */
interface ActivationCode {
  readonly lpa: string | null;
  readonly smdp_address: string | null;
  readonly matching_id: string | null;
}

/** The activation code in its full form; null for a host name, an address or a picture. */
export function activationCodeIn(value: ExactJson): string | null {
  const text = typeof value === 'string' ? value.trim() : '';
  if (/^LPA:1\$[^$\s]+\$\S*$/i.test(text)) return text;
  // Some suppliers omit the prefix.
  return /^1\$[^$\s]+\$\S*$/.test(text) ? `LPA:${text}` : null;
}

/** A bare SM-DP+ address; null for anything else. Some suppliers show it with a scheme. */
export function smdpAddressIn(value: ExactJson): string | null {
  const text = typeof value === 'string' ? value.trim() : '';
  const bare = text.replace(/^https?:\/\//i, '').replace(/\/+$/, '');
  return /^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(:\d{1,5})?$/.test(bare) ? bare : null;
}

/** Fills in what is missing: the code from its parts, or the parts from the code. */
export function completeActivationCode(known: ActivationCode, confirmationCode: string | null): ActivationCode {
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
