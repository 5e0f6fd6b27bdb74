import { defaultTreeAdapter, type DefaultTreeAdapterTypes, parse } from 'parse5';
import { describe, expect, it } from 'vitest';
import { documented, documentSchemas, orderSchema } from '../../support/intake-openapi.ts';
import { problemKinds } from '../../../src/intake/http/problem.ts';
import { OpenApiDocument } from '../../support/openapi-document.ts';
import { order, startIntake } from './running-intake.ts';

/** The texts of all elements of this name. */
function textsIn(page: string, name: string): string[] {
  const textOf = (node: DefaultTreeAdapterTypes.ChildNode): string =>
    defaultTreeAdapter.isTextNode(node)
      ? node.value
      : 'childNodes' in node
        ? node.childNodes.map(textOf).join('')
        : '';
  const find = (node: DefaultTreeAdapterTypes.ParentNode): string[] =>
    node.childNodes.flatMap((child) => {
      if (child.nodeName === name) return [textOf(child)];
      return 'childNodes' in child ? find(child) : [];
    });
  return find(parse(page));
}

const operations = () =>
  Object.entries(documented.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => method !== 'parameters')
      .map(([method, operation]) => ({ path, method, operation: Object(operation) })),
  );
const routes = (): string[] =>
  operations().map(({ path, method }) => `${method.toUpperCase()} ${path}`);
/** Every example of the document, in its order. */
const examples = (): unknown[] =>
  operations().flatMap(({ operation: { requestBody, responses } }) =>
    [requestBody, ...Object.values(responses)]
      .flatMap((part) => Object.values(Object(part?.content)))
      .flatMap((media) => {
        const { examples: named = {} } = Object(media);
        return Object.values(named).map((one) => Object(one).value);
      }),
  );

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

  it('include a page of the document with every route, example and problem, which loads and runs nothing', async () => {
    const { call } = await startIntake();
    const { status, json: page, headers } = await call('GET', '/docs');
    expect(status).toBe(200);
    expect(textsIn(page, 'h2')).toEqual(expect.arrayContaining(routes()));
    expect(textsIn(page, 'pre').map((text) => JSON.parse(text))).toEqual(examples());
    const codes = documented.components.schemas['Problem'];
    for (const code of Object(codes).properties.code.enum) expect(page).toContain(`id="${code}"`);
    const targets = [...page.matchAll(/href="#([^"]*)"/g)].map(([, target]) => `id="${target}"`);
    expect(targets.filter((target) => !page.includes(target))).toEqual([]);
    expect(targets.length).toBeGreaterThan(20);
    expect(page).not.toMatch(/<script|src=|https?:\/\/(?!127\.0\.0\.1)/);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  });
});
