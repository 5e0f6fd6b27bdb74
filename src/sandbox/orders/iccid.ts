/** The check digit that ends an ICCID (ITU-T E.118 uses Luhn's formula over the digits before it). */
export function luhnDigit(digits: string): number {
  let sum = 0;
  let doubled = true;
  for (let index = digits.length - 1; index >= 0; index -= 1) {
    let digit = Number(digits[index]);
    if (doubled) {
      digit *= 2;
      if (digit > 9) digit -= 9;
    }
    sum += digit;
    doubled = !doubled;
  }
  return (10 - (sum % 10)) % 10;
}

/** 19 digits: 89, the unassigned country code 999, issuer 01, eleven digits of our own, the check digit. */
export function iccidOf(serial: number): string {
  const digits = `8999901${String(serial).padStart(11, '0')}`;
  return digits + String(luhnDigit(digits));
}
