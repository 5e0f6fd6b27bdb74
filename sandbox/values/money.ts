const decimalsByCurrency = new Map<string, number>();

/** How many decimals a currency has (USD 2, JPY 0), by the currency data of the runtime. */
function decimalsOf(currency: string): number {
  let decimals = decimalsByCurrency.get(currency);
  if (decimals === undefined) {
    decimals =
      new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions()
        .maximumFractionDigits ?? 2;
    decimalsByCurrency.set(currency, decimals);
  }
  return decimals;
}

/**
 * "12.34" USD -> 1234, without a floating-point number in between. Throws unless it is plain
 * decimal text.
 */
export function toMinor(amount: string, currency: string): number {
  const decimals = decimalsOf(currency);
  const match = /^(\d{1,12})(?:\.(\d+))?$/.exec(amount);
  const fraction = match?.[2] ?? '';
  if (match === null || fraction.length > decimals) {
    throw new Error(
      `an amount in ${currency} is written as decimal text with at most ${decimals} decimals: ${amount}`,
    );
  }
  return Number(`${match[1] ?? '0'}${fraction.padEnd(decimals, '0')}`);
}

export function toDecimal(minor: number, currency: string): string {
  const decimals = decimalsOf(currency);
  const sign = minor < 0 ? '-' : '';
  const digits = String(Math.abs(minor)).padStart(decimals + 1, '0');
  if (decimals === 0) return sign + digits;
  return `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}
