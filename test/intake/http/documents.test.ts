import { describe, expect, it } from 'vitest';
import { documented, documentSchemas, orderSchema } from '../../support/intake-openapi.ts';
import { problemKinds } from '../../../src/intake/http/problem.ts';
import { OpenApiDocument } from '../../support/openapi-document.ts';
import { order, startIntake } from './running-intake.ts';

describe('the documents of the HTTP intake', () => {
  // `startIntake` compares every answer of every test with it.
  it('include an OpenAPI document without a mistake', async () => {
    const { call } = await startIntake();
    const { json: document } = await call('GET', '/openapi.json');
    expect(document).toMatchObject({ info: { version: '0.0.0' } });
    const source = JSON.stringify(document);
    expect(new OpenApiDocument(document).mistakes()).toEqual([]);
    expect(source).not.toContain('__shared');
    const renamed = JSON.parse(
      source.replace('"operationId":"getOrder"', '"operationId":"postOrders"'),
    );
    expect(new OpenApiDocument(renamed).mistakes()).toEqual(['two are called postOrders']);
    const path = '/v1/orders/a/b';
    const wrong = {
      method: 'GET',
      path,
      status: 200,
      contentType: 'application/json',
      answer: { source: 'a' },
    };
    expect(new OpenApiDocument(document).violations(wrong).join()).toContain('order_id');
  });

  it('describe orders and answers by the schemas that check them', () => {
    expect(orderSchema.safeParse(order()).success).toBe(true);
    expect(documented.components.schemas).toEqual(documentSchemas());
  });

  it('name problems with their statuses', () => {
    const text = JSON.stringify(documented.paths);
    const found = [...text.matchAll(/"(\d{3})":\{"description":"(`[^"]*)"/g)];
    const named = found.flatMap(([, status, description = '']) =>
      [...description.matchAll(/`(\w+)`: ([^.]+)\./g)].map(([, code, title]) => [
        code,
        { status: Number(status), title },
      ]),
    );
    expect(problemKinds).toMatchObject(Object.fromEntries(named));
    expect(new Set(named.map(([code]) => code)).size).toBeGreaterThan(10);
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
