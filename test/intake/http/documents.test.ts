import { createConfig, lintFromString } from '@redocly/openapi-core';
import { describe, expect, it } from 'vitest';
import { openApiDocument, orderSchema } from '../../../src/intake/http/openapi.ts';
import { problemKinds } from '../../../src/intake/http/problem.ts';
import { order, startIntake } from './running-intake.ts';

async function lint(source: string): Promise<string[]> {
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: { 'no-server-example.com': 'off', 'no-invalid-media-type-examples': 'error' },
  });
  const problems = await lintFromString({ source, absoluteRef: 'http://localhost/openapi.json', config });
  return problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`);
}

describe('the documents of the HTTP intake', () => {
  it('include an OpenAPI document in which an independent linter finds no mistake', async () => {
    const { call } = await startIntake();
    const answer = await call('GET', '/openapi.json');
    expect(answer.json.openapi).toBe('3.1.0');
    const source = JSON.stringify(answer.json);
    expect(await lint(source)).toEqual([]);
    expect(source).not.toContain('__shared');
    expect(await lint(source.replace('"operationId":"getOrder"', '"operationId":"postOrders"'))).not.toEqual([]);
  });

  it('describe orders by the schema that checks them', () => {
    expect(orderSchema.safeParse(order()).success).toBe(true);
    const document = JSON.stringify(openApiDocument('1'));
    for (const field of ['order_id', 'not_after', 'quantity', 'iccid', 'days'])
      expect(document).toContain(`"${field}"`);
  });

  it('include a page that names every problem, and loads and runs nothing', async () => {
    const { call } = await startIntake();
    const { status, json: page, headers } = await call('GET', '/docs');
    expect(status).toBe(200);
    for (const code of Object.keys(problemKinds)) expect(page).toContain(`id="${code}"`);
    expect(page).not.toMatch(/<script|src=|https?:\/\/(?!127\.0\.0\.1)/);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  });
});
