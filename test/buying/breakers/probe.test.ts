import { describe, expect, it } from 'vitest';
import { outcomeRows, withoutAnswer, type OutcomeRow } from '../../../src/core/answers/outcome.ts';
import {
  probeVerdict,
  type ProbeQuestion,
  type ProbeVerdict,
} from '../../../src/core/answers/probe.ts';

/** What each outcome of a probe shows: of a lookup, then of `/products`. */
const expected: Readonly<
  Record<OutcomeRow, readonly [lookup: ProbeVerdict, products: ProbeVerdict]>
> = {
  accepted: ['open', 'open'],
  answer_mismatch: ['open', 'open'],
  not_found: ['open', 'open'],
  not_found_unexpected: ['open', 'open'],
  insufficient_balance: ['open', 'open'],
  reference_in_use: ['open', 'open'],
  currency_unavailable: ['open', 'open'],
  invalid_request: ['open', 'open'],
  order_refused: ['open', 'open'],
  invalid_variant: ['open', 'open'],
  out_of_stock: ['open', 'open'],
  limit_exceeded: ['open', 'open'],
  not_api_sellable: ['open', 'open'],
  plan_unknown: ['open', 'open'],
  plan_unorderable: ['open', 'open'],
  topup_not_allowed: ['open', 'open'],
  not_cancellable: ['open', 'open'],
  unlisted_code: ['open', 'open'],
  code_out_of_place: ['open', 'open'],
  invalid_key: ['closed', 'closed'],
  account_not_allowed: ['closed', 'closed'],
  ip_not_allowed: ['closed', 'closed'],
  api_disabled: ['closed', 'closed'],
  unreachable: ['closed', 'closed'],
  tls_refused: ['closed', 'closed'],
  proxy_refused: ['closed', 'closed'],
  local_resource: ['closed', 'closed'],
  // The lookup alone may fail: whether the API answers at all, /products shows.
  server_error: ['cannot_tell', 'closed'],
  foreign_server_error: ['cannot_tell', 'closed'],
  foreign_unavailable: ['cannot_tell', 'closed'],
  dropped: ['cannot_tell', 'closed'],
  headers_timeout: ['cannot_tell', 'closed'],
  cut_answer: ['cannot_tell', 'closed'],
  deadline: ['cannot_tell', 'closed'],
  unreadable_success: ['cannot_tell', 'cannot_tell'],
  foreign_refusal: ['cannot_tell', 'cannot_tell'],
  redirect: ['cannot_tell', 'cannot_tell'],
  rate_limited: ['cannot_tell', 'cannot_tell'],
  local_defect: ['cannot_tell', 'cannot_tell'],
  shutdown: ['cannot_tell', 'cannot_tell'],
  crashed: ['cannot_tell', 'cannot_tell'],
};
const questions: readonly ProbeQuestion[] = ['lookup', 'products'];

describe('a probe', () => {
  it.each(outcomeRows)('that ends as %s shows this about the API', (row) => {
    const outcome = withoutAnswer(row, true, '');
    expect(questions.map((question) => probeVerdict(question, outcome, false))).toEqual(
      expected[row],
    );
  });

  it.each(['cut_answer', 'deadline'] as const)(
    'whose success ends as %s after a head of JSON was answered',
    (row) => {
      const outcome = { ...withoutAnswer(row, true, ''), http: 200 };
      for (const question of questions) expect(probeVerdict(question, outcome, true)).toBe('open');
    },
  );

  it('whose success is not what it says proves nothing', () => {
    expect(
      probeVerdict('lookup', { ...withoutAnswer('unreadable_success', true, ''), http: 200 }, true),
    ).toBe('cannot_tell');
  });

  it.each([401, 403])(
    'that is denied with %i and a code that Spec 7 does not list proves nothing',
    (http) => {
      const outcome = { ...withoutAnswer('unlisted_code', true, ''), http, code: 'key_suspended' };
      for (const question of questions)
        expect(probeVerdict(question, outcome, false)).toBe('cannot_tell');
    },
  );
});
