import * as z from 'zod';

const contentSchema = z.record(
  z.string(),
  z.strictObject({
    schema: z.record(z.string(), z.unknown()),
    example: z.unknown().optional(),
    examples: z.record(z.string(), z.strictObject({ value: z.unknown() })).optional(),
  }),
);
const text = z.string().min(1);
const parameterSchema = z.strictObject({
  name: text,
  in: z.enum(['path', 'query', 'header']),
  description: text.optional(),
  required: z.boolean().optional(),
  schema: z.record(z.string(), z.unknown()),
  example: z.unknown().optional(),
});
const headersSchema = z.record(
  z.string(),
  z.strictObject({ description: text, schema: z.record(z.string(), z.unknown()) }),
);
const operationSchema = z.strictObject({
  operationId: text,
  summary: text,
  description: text,
  tags: z.array(text).optional(),
  security: z.array(z.record(z.string(), z.array(z.string()))).optional(),
  parameters: z.array(parameterSchema).optional(),
  requestBody: z.strictObject({ required: z.boolean(), content: contentSchema }).optional(),
  responses: z.record(
    z.string().regex(/^[1-5]\d\d$/),
    z.strictObject({
      description: text,
      headers: headersSchema.optional(),
      content: contentSchema,
    }),
  ),
});
const pathSchema = z.strictObject({
  parameters: z.array(parameterSchema).optional(),
  get: operationSchema.optional(),
  post: operationSchema.optional(),
  delete: operationSchema.optional(),
});

/** The part of OpenAPI 3.1 that our documents use; a key that it does not know is a mistake. */
const documentSchema = z.strictObject({
  openapi: z.literal('3.1.0'),
  info: z.strictObject({
    title: text,
    version: text,
    description: text,
    license: z.strictObject({ name: text, identifier: text }),
  }),
  servers: z.array(z.strictObject({ url: text, description: text.optional() })).min(1),
  security: z.array(z.record(z.string(), z.array(z.string()))).optional(),
  tags: z.array(z.strictObject({ name: text, description: text })).optional(),
  paths: z.record(z.string().startsWith('/'), pathSchema),
  components: z.strictObject({
    securitySchemes: z.record(z.string(), z.looseObject({ type: z.enum(['http', 'apiKey']) })),
    schemas: z.record(z.string(), z.record(z.string(), z.unknown())),
  }),
});
type Content = z.infer<typeof contentSchema>;
type Operation = z.infer<typeof operationSchema>;

export interface Call {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** The body of the request as JSON; undefined: none. */
  readonly sent?: unknown;
  readonly status: number;
  readonly contentType: string | null;
  readonly answer: unknown;
}

const methods = ['get', 'post', 'delete'] as const;
const namesInBraces = (path: string): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
const repeatedIn = (names: readonly string[]): string[] =>
  names.filter((name, at) => names.indexOf(name) !== at);

/** An OpenAPI document as a client reads it: it knows nothing of the code that made it. */
export class OpenApiDocument {
  readonly #document: z.infer<typeof documentSchema>;
  readonly #readers = new Map<string, z.ZodType>();

  /**
   * Throws where the document is none of OpenAPI 3.1, or has a part that this class does not know.
   */
  constructor(document: unknown) {
    this.#document = documentSchema.parse(document);
  }

  /**
   * Names that are used and missing, declared and unused, or used twice, and examples that their
   * schema refuses.
   */
  mistakes(): string[] {
    const { paths, components, security = [], tags = [] } = this.#document;
    const operations = this.#operations();
    const refs = (value: unknown): string[] =>
      [...JSON.stringify(value).matchAll(/"\$ref":"([^"]*)"/g)].map(([, target]) => target ?? '');
    const declared = new Set(
      Object.keys(components.schemas).map((name) => `#/components/schemas/${name}`),
    );
    const used = new Set(refs(this.#document));
    const schemes = [security, ...operations.map(({ operation }) => operation.security ?? [])].flat(
      2,
    );
    const knownTags = tags.map(({ name }) => name);
    const missing = [...used].filter((target) => !declared.has(target));
    // Without these no schema can be read.
    if (missing.length > 0) return missing.map((target) => `nothing is at ${target}`);
    return [
      ...[...declared]
        .filter((target) => !used.has(target))
        .map((target) => `nobody uses ${target}`),
      ...repeatedIn(operations.map(({ operation }) => operation.operationId)).map(
        (name) => `two are called ${name}`,
      ),
      ...repeatedIn(Object.keys(paths).map((path) => path.replace(/\{\w+\}/g, '{}'))).map(
        (path) => `twice: ${path}`,
      ),
      ...schemes
        .flatMap((scheme) => Object.keys(scheme))
        .filter((name) => !(name in components.securitySchemes))
        .map((name) => `there is no security scheme ${name}`),
      ...operations.flatMap(({ path, operation }) => this.#mistakesOf(path, operation, knownTags)),
    ];
  }

  /**
   * What of a call the document does not say. `isChecked`: whether the request was meant to fit,
   * too.
   */
  violations(call: Call, isChecked = true): string[] {
    const [path = '', query] = call.path.split('?');
    const found = this.#operations().find(
      (one) => one.method === call.method.toLowerCase() && isPathOf(one.path, path),
    );
    if (found === undefined) return [`no operation ${call.method} ${path}`];
    const { operation } = found;
    const known = (operation.parameters ?? [])
      .filter((one) => one.in === 'query')
      .map(({ name }) => name);
    const response = operation.responses[String(call.status)];
    return [
      ...(isChecked
        ? [
            ...[...new URLSearchParams(query).keys()]
              .filter((name) => !known.includes(name))
              .map((x) => `query ${x}`),
            ...this.#bodyViolations(operation, call.sent),
          ]
        : []),
      ...(response === undefined
        ? [`${operation.operationId}: no answer ${call.status}`]
        : this.#misfits(response.content, call.contentType, call.answer, `answer ${call.status}`)),
    ];
  }

  knows(method: string, path: string): boolean {
    const [plain = ''] = path.split('?');
    return this.#operations().some(
      (one) => one.method === method.toLowerCase() && isPathOf(one.path, plain),
    );
  }

  #operations() {
    return Object.entries(this.#document.paths).flatMap(([path, item]) =>
      methods.flatMap((method) => {
        const operation = item[method];
        const parameters = [...(item.parameters ?? []), ...(operation?.parameters ?? [])];
        return operation === undefined
          ? []
          : [{ method, path, operation: { ...operation, parameters } }];
      }),
    );
  }

  #mistakesOf(path: string, operation: Operation, knownTags: readonly string[]): string[] {
    const inPath = (operation.parameters ?? []).filter((one) => one.in === 'path');
    const contents = [
      operation.requestBody?.content,
      ...Object.values(operation.responses).map((one) => one.content),
    ];
    const statuses = Object.keys(operation.responses);
    return [
      ...(JSON.stringify(inPath.map(({ name }) => name).toSorted()) ===
      JSON.stringify(namesInBraces(path).toSorted())
        ? []
        : ['its path and its parameters differ']),
      ...(operation.parameters ?? [])
        .filter(
          ({ example, schema }) =>
            example !== undefined && !this.#readerOf(schema).safeParse(example).success,
        )
        .map(({ name }) => `example of ${name}`),
      ...inPath
        .filter(({ required }) => required !== true)
        .map(({ name }) => `${name} must be required`),
      ...(operation.tags ?? [])
        .filter((tag) => !knownTags.includes(tag))
        .map((tag) => `there is no tag ${tag}`),
      ...(['2', '4'].every((first) => statuses.some((status) => status.startsWith(first)))
        ? []
        : ['no success or no refusal']),
      ...contents.flatMap((content) => (content === undefined ? [] : this.#wrongExamples(content))),
    ].map((mistake) => `${operation.operationId}: ${mistake}`);
  }

  #wrongExamples(content: Content): string[] {
    return Object.entries(content).flatMap(([type, { example, examples = {} }]) => {
      const shown = [
        ...(example === undefined ? [] : [example]),
        ...Object.values(examples).map(({ value }) => value),
      ];
      return shown.flatMap((value) => this.#misfits(content, type, value, 'example'));
    });
  }

  #bodyViolations({ requestBody }: Operation, sent: unknown): string[] {
    if (requestBody === undefined) return sent === undefined ? [] : ['a body'];
    if (sent === undefined) return requestBody.required ? ['no body'] : [];
    return this.#misfits(requestBody.content, 'application/json', sent, 'request');
  }

  #misfits(content: Content, type: string | null, value: unknown, what: string): string[] {
    const media = content[type?.split(';')[0] ?? ''];
    if (media === undefined) return [`${what}: content type ${type}`];
    const { error } = this.#readerOf(media.schema).safeParse(value);
    return (error?.issues ?? []).map(
      (issue) => `${what} ${issue.path.join('.')}: ${issue.message}`,
    );
  }

  /** `$ref` of OpenAPI names its components; in a schema of its own they are `$defs`. */
  #readerOf(schema: object): z.ZodType {
    const { schemas } = this.#document.components;
    const source = JSON.stringify({ ...schema, $defs: schemas }).replaceAll(
      '"#/components/schemas/',
      '"#/$defs/',
    );
    const key = JSON.stringify(schema);
    const reader = this.#readers.get(key) ?? z.fromJSONSchema(JSON.parse(source));
    this.#readers.set(key, reader);
    return reader;
  }
}

const isPathOf = (template: string, path: string): boolean =>
  new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(path);
