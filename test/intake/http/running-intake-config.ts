import type { WebhookSettings } from '../../../src/intake/http/settings.ts';

export const token = 'token-of-anybody-0001';
export const boundToken = 'token-of-shop-two-002';
export const whsec = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
export const olderWhsec = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';

export const limits: WebhookSettings['limits'] = {
  bodyBytes: 1_048_576,
  batchLines: 1000,
  depth: 16,
  requestsPerMinute: 60_000,
  burst: 10_000,
  uncommitted: 1000,
  connections: 512,
  connectionsPerAddress: 512,
  unverifiedBytes: 16_777_216,
  verifiedBytes: 33_554_432,
  headersMs: 10_000,
  requestMs: 30_000,
};
