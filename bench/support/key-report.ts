import * as z from 'zod';

/** What became of the calls with one key, as the server saw them. */
export const keyReportSchema = z.object({
  /** When each spending call arrived, let in or not. */
  arrivals: z.array(z.number()),
  /** Calls that were answered with 429. */
  limited: z.number(),
  /** References of the orders that exist. */
  bought: z.array(z.string()),
  lastBoughtAt: z.number(),
});
export type KeyReport = z.infer<typeof keyReportSchema>;
