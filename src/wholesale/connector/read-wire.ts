import { z } from 'zod';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { defaultWire, wireSchema, type Wire } from './wire.ts';

/**
 * Reads `wholesale.wire` of a config: what it leaves out keeps its default.
 * @throws OrderSyncError CONFIG_INVALID, naming every wrong place
 */
export function readWire(value: unknown): Wire {
  if (value === undefined || value === null) return defaultWire;
  const parsed = wireSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new OrderSyncError(
    'CONFIG_INVALID',
    `wholesale.wire is not a wire mapping:\n${z.prettifyError(parsed.error)}`,
    {
      hint: 'run `order-sync wire` to see the mapping with all its names',
    },
  );
}
