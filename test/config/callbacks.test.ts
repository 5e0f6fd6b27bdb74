import { describe, expect, it } from 'vitest';
import { minimal, mistakesOf } from './config-file.ts';

const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
const endpoint = { name: 'shop', url: 'https://shop.example.com/results' };
/** The mistakes of these endpoints, with their secrets in the environment. */
function mistakesIn(
  endpoints: readonly object[],
  secrets: readonly (readonly string[])[],
): readonly string[] {
  const environment = Object.fromEntries(
    secrets.flatMap((own, index) =>
      own.map((value, at) => [
        `ORDER_SYNC__RESULTS__CALLBACKS__${index}__SECRETS__${at}__VALUE`,
        value,
      ]),
    ),
  );
  return mistakesOf(`${minimal}results: { callbacks: ${JSON.stringify(endpoints)} }\n`, {
    environment,
  }).slice(1);
}

describe('the endpoints of callbacks', () => {
  it('may be several, with two secrets each during a rotation', () => {
    const other = secret.replace('CQ', 'DQ');
    const endpoints = [endpoint, { ...endpoint, name: 'erp', sources: ['shop1'] }];
    expect(mistakesIn(endpoints, [[secret, other], [secret]])).toEqual([]);
  });

  it.each([
    [
      'share a name',
      [endpoint, endpoint],
      [[secret], [secret]],
      'name must differ from the names of the other callbacks, got "shop"',
    ],
    [
      'list a secret twice',
      [endpoint],
      [[secret, secret]],
      'secrets.1.value is listed twice: remove one of them',
    ],
    [
      'have a secret of another form',
      [endpoint],
      [['a-short-one']],
      'secrets.0.value must be whsec_ followed by base64',
    ],
    ['have no secret', [endpoint], [], 'results.callbacks.0.secrets is required'],
    [
      'would send codes unencrypted',
      [{ ...endpoint, url: 'http://shop.example.com' }],
      [[secret]],
      'url must be https, because keys and codes would cross the network unencrypted',
    ],
  ])('are refused when they %s', (_, endpoints, secrets, problem) => {
    const mistakes = mistakesIn(endpoints, secrets);
    expect(mistakes).toEqual([expect.stringContaining(problem)]);
    expect(mistakes.join('\n')).not.toContain(secret);
  });

  it('say of a section of an earlier version what is meant', () => {
    const [, mistake] = mistakesOf(
      `${minimal}results: { callback: { url: "https://x.example" } }\n`,
    );
    expect(mistake).toContain(
      'results.callback is no key of this version; did you mean "callbacks"?',
    );
  });
});
