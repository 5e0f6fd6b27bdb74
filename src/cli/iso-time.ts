import { OrderSyncError } from '../core/order-sync-error.ts';

/**
 * The time that an option names, in ms.
 * @throws OrderSyncError USAGE
 */
export function timeOf(option: string, text: string): number {
  const isIso = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text);
  const ms = isIso ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(ms)) return ms;
  throw new OrderSyncError('USAGE', `${option} must be a time as 2026-11-21 or 2026-11-21T08:00:00Z, got "${text}"`);
}
