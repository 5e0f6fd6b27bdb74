import type { WholesaleClient } from './client.ts';

/**
 * The part of the API client that the submission uses. Each method makes one HTTP request at most,
 * for which the caller took a slot.
 */
export type WholesalePort = Pick<
  WholesaleClient,
  'render' | 'submit' | 'canLookUp' | 'lookupPath' | 'lookUp' | 'probe' | 'connectorHash'
> &
  Partial<Pick<WholesaleClient, 'canReadAccepted'>>;
