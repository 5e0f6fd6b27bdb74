import * as z from 'zod';

/** The calls with one key, as the server counted them. */
export const keyReportSchema = z.object({
  /** The arrival of each spending call, rate-limited or not. */
  arrivals: z.array(z.number()),
  /** The number of calls that were answered with 429. */
  limited: z.number(),
  /** References of the orders that exist. */
  bought: z.array(z.string()),
  lastBoughtAt: z.number(),
});
export type KeyReport = z.infer<typeof keyReportSchema>;
