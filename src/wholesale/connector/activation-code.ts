/** The parts of an eSIM's activation code, `LPA:1$<SM-DP+ address>$<matching id>[$<OID>[$<confirmation flag>]]`. */
export interface ActivationCode {
  readonly lpa: string | null;
  readonly smdpAddress: string | null;
  readonly matchingId: string | null;
}

/** The activation code in its full form; null for a mere host name, an address or a picture. */
export function activationCodeIn(text: string): string | null {
  const trimmed = text.trim();
  if (/^LPA:1\$[^$\s]+\$\S*$/i.test(trimmed)) return trimmed;
  // Some suppliers leave the prefix out, as people do who type it in by hand.
  return /^1\$[^$\s]+\$\S*$/.test(trimmed) ? `LPA:${trimmed}` : null;
}

/** A bare SM-DP+ address; null for anything that is none. Some suppliers show it with a scheme before it. */
export function smdpAddressIn(text: string): string | null {
  const bare = text
    .trim()
    .replace(/^https?:\/\//i, '')
    .replace(/\/+$/, '');
  return /^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(:\d{1,5})?$/.test(bare) ? bare : null;
}

/** Fills in what is missing: the code from its parts, or the parts from the code. */
export function completeActivationCode(known: ActivationCode, confirmationCode: string | null): ActivationCode {
  if (known.lpa !== null) {
    const [, smdp = '', matching = ''] = known.lpa.split('$');
    return {
      lpa: known.lpa,
      smdpAddress: known.smdpAddress ?? (smdp === '' ? null : smdp),
      matchingId: known.matchingId ?? (matching === '' ? null : matching),
    };
  }
  if (known.smdpAddress === null || known.matchingId === null) return known;
  // A set fifth part tells the phone to ask for the confirmation code.
  const flag = confirmationCode === null ? '' : '$$1';
  return { ...known, lpa: `LPA:1$${known.smdpAddress}$${known.matchingId}${flag}` };
}
