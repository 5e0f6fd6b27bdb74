/** ISO 8601 as storefronts write it; without a zone it is UTC. Null when it is no time. */
export function shopTime(text: string | null | undefined): number | null {
  if (text === null || text === undefined || text === '') return null;
  const ms = Date.parse(/(?:Z|[+-]\d{2}:?\d{2})$/.test(text) ? text : `${text}Z`);
  return Number.isFinite(ms) ? ms : null;
}
