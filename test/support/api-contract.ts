import { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js';
import { int64FromLiteral } from '../../src/domain/int64.js';
import type { Answer } from './connection.js';

/** Headers that any HTTP answer may have, so that the document need not speak of them. */
const GENERAL =
  /^(?:date|connection|keep-alive|content-length|content-type|transfer-encoding|cache-control|vary|ratelimit|ratelimit-policy|x-content-type-options|access-control-.+)$/;

type Schema = Record<string, unknown>;

interface Ref {
  readonly $ref?: string;
}

interface Header extends Ref {
  readonly required?: boolean;
  readonly schema: Schema;
}

interface Response extends Ref {
  readonly headers?: Record<string, Header>;
  readonly content?: Record<string, { schema: Schema; example?: unknown; examples?: Record<string, ErrorExample> }>;
}

interface ErrorExample {
  readonly value: unknown;
}

interface Operation {
  readonly operationId: string;
  readonly description: string;
  readonly deprecated?: boolean;
  readonly parameters: readonly { readonly name: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: Schema }> };
  readonly responses: Record<string, Response>;
}

/** An OpenAPI document, as far as tests look into it. */
export interface OpenApi {
  readonly info: { readonly version: string };
  readonly servers: readonly { readonly variables: Record<string, { readonly default: string }> }[];
  readonly security: unknown;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, Schema> } & Record<string, Record<string, unknown>>;
}

/** An OpenAPI document that answers under `/v1` are held against; it remembers which of its parts they had. */
export class ApiContract {
  private static readonly made = new Map<string, ApiContract>();

  readonly document: OpenApi;
  private readonly schemas: Record<string, Schema>;
  private readonly validators = new Map<string, ValidateFunction>();
  private readonly met = new Set<string>();
  private readonly ajv = new Ajv2020({ allErrors: true })
    .addVocabulary(['components', 'example'])
    // `exactJson` looks at the digits, which a number no longer has.
    .addFormat('int64', { type: 'number', validate: () => true });

  /** The contract that a document states, given as JSON: one and the same for the same text. */
  static of(json: string): ApiContract {
    const contract = this.made.get(json) ?? new ApiContract(json);
    this.made.set(json, contract);
    return contract;
  }

  private constructor(json: string) {
    this.document = JSON.parse(json) as OpenApi;
    // A client must bear a field that is added to a resource later; here a field that nobody described is a fault.
    const strict = (schema: Schema) => ('properties' in schema ? { ...schema, additionalProperties: false } : schema);
    const schemas = Object.entries(this.document.components.schemas);
    this.schemas = Object.fromEntries(schemas.map(([name, schema]) => [name, strict(schema)]));
  }

  /** Throws if an answer is not as the document says: its status, its headers, its error code or its body. */
  check(method: string, target: string, answer: Answer): void {
    try {
      this.hold(method, target, answer);
    } catch (error) {
      throw new Error(
        `${method} ${target.slice(0, 100)} is not answered as documented: ${(error as Error).message}\n` +
          `${answer.status} ${answer.body.slice(0, 300)}`,
        { cause: error },
      );
    }
  }

  /** Every status, header and error code that the document has and no answer had yet; a code in the words of its example. */
  unmet(): string[] {
    const parts = this.operations().flatMap((operation) =>
      Object.entries(operation.responses).flatMap(([status, response]) => {
        const name = nameOf(operation, status, response);
        const { headers, content } = this.resolve(response);
        const codes = Object.values(content ?? {}).flatMap(({ schema, examples }) =>
          schema.$ref === ERROR.$ref ? Object.keys(examples ?? {}) : [],
        );
        return [name, ...[...Object.keys(headers ?? {}), ...codes].map((part) => `${name} ${part}`)];
      }),
    );
    return [...new Set(parts)].filter((part) => !this.met.has(part));
  }

  private hold(method: string, target: string, { status, headers, body }: Answer): void {
    if (method === 'OPTIONS' && status === 204) return;
    // HEAD is GET without the body.
    const operation = this.operations().find(
      (each) => each.method === (method === 'HEAD' ? 'GET' : method) && each.targets.test(target),
    );
    const hasBody = method !== 'HEAD';
    const code = status >= 400 && hasBody ? this.errorCode(status, body) : undefined;
    if (!operation) {
      if (hasBody && code === undefined) throw new Error('it is no operation, and yet it succeeds');
      return;
    }
    const [key, response] = this.responseOf(operation, status, code);
    const name = nameOf(operation, key, response);
    this.met.add(name);
    if (code !== undefined && shapeOf(this.exampleOf(response, code)?.value) === shapeOf(JSON.parse(body))) {
      this.met.add(`${name} ${code}`);
    }
    this.holdHeaders(name, this.resolve(response).headers ?? {}, headers);
    const type = headers['content-type'] ?? 'nothing';
    const contents = this.resolve(response).content;
    if (!contents && type === 'nothing' && body === '') return;
    const content = contents?.[type];
    if (!content) throw new Error(`${name} is not documented to be ${type}`);
    if (hasBody) this.validate(content.schema, exactJson(body), 'the body');
    else if (body !== '') throw new Error('HEAD has a body');
  }

  /** An error belongs to the response that shows its code. */
  private responseOf({ operationId, responses }: Operation, status: number, code?: string): [string, Response] {
    for (const key of status < 400 ? [String(status)] : [String(status), 'default']) {
      const response = responses[key];
      if (response && (code === undefined || this.exampleOf(response, code))) return [key, response];
    }
    throw new Error(`${operationId} does not document ${status} ${code ?? ''}`);
  }

  private exampleOf(response: Response, code: string): ErrorExample | undefined {
    return this.resolve(response).content?.['application/json']?.examples?.[code];
  }

  private holdHeaders(name: string, documented: Record<string, Header>, sent: Answer['headers']): void {
    for (const [header, reference] of Object.entries(documented)) {
      const { required, schema } = this.resolve(reference);
      const value = sent[header.toLowerCase()];
      if (value === undefined && required) throw new Error(`${name} lacks the header ${header}`);
      if (value === undefined) continue;
      const number = schema.type === 'integer' && /^-?[0-9]+$/.test(String(value));
      this.validate(schema, number ? Number(value) : value, `the header ${header}`);
      this.met.add(`${name} ${header}`);
    }
    const known = new Set(Object.keys(documented).map((header) => header.toLowerCase()));
    const unknown = Object.keys(sent).filter((header) => !known.has(header) && !GENERAL.test(header));
    if (unknown.length > 0) throw new Error(`${name} has undocumented headers: ${unknown.join(', ')}`);
  }

  private errorCode(status: number, body: string): string {
    const error = exactJson(body);
    this.validate(ERROR, error, 'the body');
    if ((error as { status: number }).status !== status) throw new Error('the status of the body is another');
    return (error as { code: string }).code;
  }

  private validate(schema: Schema, value: unknown, what: string): void {
    const text = JSON.stringify(schema);
    let validator = this.validators.get(text);
    if (!validator) {
      validator = this.ajv.compile({ ...schema, components: { schemas: this.schemas } });
      this.validators.set(text, validator);
    }
    if (!validator(value)) throw new Error(this.ajv.errorsText(validator.errors, { dataVar: what }));
  }

  /** Every operation of the document, with its method, its path, and the targets that lead to it. */
  operations(): (Operation & { readonly method: string; readonly path: string; readonly targets: RegExp })[] {
    return Object.entries(this.document.paths).flatMap(([path, item]) => {
      const targets = new RegExp(`^/v1${path.replace(/\{\w+\}/g, '[^/?]+')}(?:\\?|$)`);
      return Object.entries(item).map(([method, each]) => ({ ...each, method: method.toUpperCase(), path, targets }));
    });
  }

  private resolve<T extends Ref>(value: T): T {
    const [, , kind, name] = value.$ref?.split('/') ?? [];
    return kind && name ? (this.document.components[kind]?.[name] as T) : value;
  }
}

const ERROR = { $ref: '#/components/schemas/Error' };

/** An error body with other numbers in its message counts as the same. */
function shapeOf(error: unknown): string {
  return JSON.stringify(error).replace(/[0-9]+/g, '0');
}

function nameOf({ operationId }: Operation, status: string, { $ref }: Response): string {
  return $ref?.split('/').at(-1) ?? `${operationId} ${status}`;
}

/** Parses a JSON text whose numbers are all integers, each within int64 by its digits. */
function exactJson(text: string): unknown {
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[-0-9][^,\]}\s]*/g)) {
    if (!token.startsWith('"') && String(int64FromLiteral(token)) !== token) throw new Error(`${token} is no int64`);
  }
  return JSON.parse(text);
}
