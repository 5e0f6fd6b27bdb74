import type { FaultRuleInput } from '../../sandbox/settings/fault-rules.ts';

const foreign = {
  reference: 'os-of-others',
  number: 'X-1',
  status: 'completed',
  codes: [{ code: 'CODE-OF-OTHERS' }],
};

/**
 * The variant of which every order is answered with another one, and none is bought: each needs
 * review.
 */
export const foreignVariant = 'test-other-reference';
export const foreignAnswer: FaultRuleInput = {
  fault: { fault: 'answer', status: 201, body: JSON.stringify(foreign), when: 'before' },
  match: { item: foreignVariant },
};
