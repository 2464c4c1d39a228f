import { beforeAll, describe, expect, it } from '@jest/globals';
import { Service } from '../../support/service.js';

type Json = Record<string, unknown>;

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: unknown;
}

interface Content {
  readonly content: Record<string, { readonly schema: Json }>;
}

interface Operation {
  readonly operationId: string;
  readonly deprecated?: boolean;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: Content & { readonly required?: boolean };
  readonly responses: Record<string, Content>;
}

interface Document {
  readonly info: { readonly version: string };
  readonly servers: unknown;
  readonly security: unknown;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly securitySchemes: Json; readonly schemas: Record<string, Json> };
}

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** The document that a service with these settings serves. */
async function served(settings: Record<string, string> = {}): Promise<Document> {
  const service = await Service.start(settings);
  const { json } = service.contract();
  await service.stop();
  return JSON.parse(json) as Document;
}

// What the interface says in words, and no word of it from the program.
describe('the document of the interface', () => {
  let document: Document;
  let operations: Map<string, Operation>;
  let schemas: Record<string, Json>;

  beforeAll(async () => {
    document = await served();
    schemas = document.components.schemas;
    operations = new Map(
      Object.values(document.paths).flatMap((methods) =>
        Object.values(methods).map((each) => [each.operationId, each]),
      ),
    );
  });

  const parameter = (operation: string, name: string) =>
    operations.get(operation)?.parameters.find((each) => each.name === name);

  const property = (schema: string, name: string) => (schemas[schema]?.properties as Record<string, Json>)[name];

  it('is of version 1.0.0', () => {
    expect(document.info.version).toBe('1.0.0');
  });

  it('has three operations, by these names, methods and paths', () => {
    const named = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => `${operationId}: ${method.toUpperCase()} ${path}`),
    );
    expect(named.sort()).toEqual(['createPet: POST /pets', 'getPet: GET /pets/{petId}', 'listPets: GET /pets']);
  });

  it('has the addresses of production and staging, which are settings, else /v1 of this instance', async () => {
    const addresses = (production: string, staging: string) => [
      expect.objectContaining({ url: '{base_url}', variables: { base_url: defaulting(production) } }),
      expect.objectContaining({ url: '{staging_base_url}', variables: { staging_base_url: defaulting(staging) } }),
    ];
    const defaulting = (address: string) => expect.objectContaining({ default: address }) as unknown;
    expect(document.servers).toEqual(addresses('/v1', '/v1'));
    const PRODUCTION_BASE_URL = 'https://pets.example.com/v1';
    const STAGING_BASE_URL = 'https://staging.example.com/a/v1';
    const { servers } = await served({ PRODUCTION_BASE_URL, STAGING_BASE_URL });
    expect(servers).toEqual(addresses(PRODUCTION_BASE_URL, STAGING_BASE_URL));
  });

  it('asks for a bearer key once for all operations, and for none by itself', () => {
    expect(document.security).toEqual([{ apiKey: [] }]);
    expect(document.components.securitySchemes).toMatchObject({ apiKey: { type: 'http', scheme: 'bearer' } });
    for (const operation of operations.values()) expect(operation).not.toHaveProperty('security');
  });

  it('has NewPet of a name and a category, both required, and an optional status', () => {
    expect(schemas.NewPet).toMatchObject({ type: 'object', required: ['name', 'categoryId'] });
    expect(Object.keys(schemas.NewPet?.properties as Json)).toEqual(['name', 'categoryId', 'status']);
    expect(property('NewPet', 'name')).toMatchObject({ type: 'string' });
    expect(property('NewPet', 'categoryId')).toMatchObject({ type: 'integer', format: 'int64' });
    expect(JSON.stringify(property('NewPet', 'status'))).toContain(JSON.stringify(ref('PetStatus')));
  });

  it('has Pet of all that NewPet has, and an id, which is required', () => {
    const [base, own] = schemas.Pet?.allOf as [Json, Json];
    expect(base).toEqual(ref('NewPet'));
    expect(own.required).toContain('id');
    expect(own.properties).toMatchObject({ id: { type: 'integer', format: 'int64' } });
  });

  it('has the default of the status that a new pet has without one', () => {
    expect(JSON.stringify(property('NewPet', 'status'))).toContain('"default":"available"');
  });

  it('has PetStatus of three values', () => {
    expect(schemas.PetStatus).toMatchObject({ type: 'string', enum: ['available', 'pending', 'sold'] });
  });

  it('has Pets, an array of Pet', () => {
    expect(schemas.Pets).toMatchObject({ type: 'array', items: ref('Pet') });
  });

  it('has Error of a code, a message and a status, all required', () => {
    expect(schemas.Error).toMatchObject({ type: 'object', required: ['code', 'message', 'status'] });
    for (const [name, type] of Object.entries({ code: 'string', message: 'string', status: 'integer' }))
      expect(property('Error', name)).toMatchObject({ type });
  });

  it('has listPets with an optional limit from 1 to 100, 20 by default, and an optional status', () => {
    expect(parameter('listPets', 'limit')).toMatchObject({
      in: 'query',
      required: false,
      schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    });
    expect(parameter('listPets', 'status')).toMatchObject({ in: 'query', required: false, schema: ref('PetStatus') });
  });

  it('has a form for the cursor, which the cursors have', async () => {
    const { pattern } = parameter('listPets', 'cursor')?.schema as { pattern: string };
    const service = await Service.start();
    for (const name of ['Bella', 'Max']) await service.add({ name, categoryId: 1 });
    const { headers } = await service.send('/v1/pets?limit=1');
    await service.stop();
    const [, cursor] = /cursor=([^&>]+)/.exec(headers.link as string) ?? [];
    expect(cursor).toMatch(new RegExp(pattern, 'u'));
    for (const other of ['', '1', 'abc', `${cursor}=`, ` ${cursor}`])
      expect(other).not.toMatch(new RegExp(pattern, 'u'));
  });

  it('has createPet with a NewPet as JSON, which is required, and the others with no body', () => {
    const { requestBody } = operations.get('createPet') as Operation;
    expect(requestBody?.required).toBe(true);
    expect(Object.keys(requestBody?.content ?? {})).toEqual(['application/json']);
    expect(requestBody?.content['application/json']?.schema).toMatchObject(ref('NewPet'));
    for (const other of ['listPets', 'getPet']) expect(operations.get(other)).not.toHaveProperty('requestBody');
  });

  it('has getPet with a required int64 as petId', () => {
    expect(parameter('getPet', 'petId')).toMatchObject({
      in: 'path',
      required: true,
      schema: { type: 'integer', format: 'int64' },
    });
  });

  it('has getPet alone as deprecated, with its last day and what replaces it', () => {
    const deprecated = [...operations.values()].filter((each) => each.deprecated);
    expect(deprecated.map(({ operationId }) => operationId)).toEqual(['getPet']);
    expect(deprecated[0]?.description).toMatch(/5 December 2030.*`GET \/pets` with the `status` filter/);
  });

  it('marks no operation as experimental', () => {
    const known = ['x-sunset', 'x-codeSamples'];
    for (const operation of operations.values())
      expect(Object.keys(operation).filter((key) => key.startsWith('x-') && !known.includes(key))).toEqual([]);
    expect(JSON.stringify(document.paths)).not.toMatch(/experimental|\bbeta\b|\balpha\b/i);
  });

  it.each([
    ['listPets', { 200: 'Pets', 401: 'Error' }],
    ['createPet', { 201: 'Pet', 400: 'Error', 401: 'Error' }],
    ['getPet', { 200: 'Pet', 401: 'Error', 404: 'Error' }],
  ])('has the answers of %s, as JSON', (name, answers) => {
    const { responses } = operations.get(name) as Operation;
    for (const [status, schema] of Object.entries(answers))
      expect(responses[status]?.content).toEqual({
        'application/json': expect.objectContaining({ schema: ref(schema) }),
      });
  });
});
