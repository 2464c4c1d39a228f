import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { Service } from '../support/service.js';

const run = promisify(execFile);

/** A client that a person writes who has openapi.yaml and nothing else. */
const CLIENT = `import createClient from 'openapi-fetch';
import type { paths } from './petstore.js';

const petstore = createClient<paths>({
  baseUrl: 'http://127.0.0.1:3000/v1',
  headers: { Authorization: \`Bearer \${process.env.KEY}\` },
});

const idempotencyKey = crypto.randomUUID(); // the same for every retry
const created = await petstore.POST('/pets', {
  params: { header: { 'Idempotency-Key': idempotencyKey } },
  body: { name: 'Bella', categoryId: 42 },
});
if (created.error) throw new Error(\`\${created.error.code}: \${created.error.message}\`);
const list = await petstore.GET('/pets', { params: { query: { status: 'available', limit: 10 } } });
if (list.error) throw new Error(\`\${list.error.code}: \${list.error.message}\`);
console.log(created.data.id, list.data.map((pet) => pet.name));
`;

/** What else the types allow: getPet, an optional header, the status and the codes that there are; and what they do not. */
const MORE = `${CLIENT}
const { data: again } = await petstore.GET('/pets/{petId}', { params: { path: { petId: created.data.id } } });
const { data: sold } = await petstore.POST('/pets', {
  params: { header: { 'Idempotency-Key': 'b7e1' } },
  body: { name: 'Max', categoryId: 7, status: 'sold' },
});
const { error: missing, response } = await petstore.GET('/pets/{petId}', { params: { path: { petId: 77 } } });
const statuses: ('available' | 'pending' | 'sold')[] = [created.data.status, ...list.data.map((pet) => pet.status)];
const code: 'pet_not_found' | undefined = missing?.code === 'pet_not_found' ? missing.code : undefined;
console.log(JSON.stringify([again, sold, statuses, code, response.headers.get('sunset')]));
export const mistakes = () => [
  // @ts-expect-error No such status.
  petstore.GET('/pets', { params: { query: { status: 'lost' } } }),
  // @ts-expect-error No such status.
  petstore.POST('/pets', { body: { name: 'Max', categoryId: 7, status: 'lost' } }),
  // @ts-expect-error Not a number.
  petstore.POST('/pets', { body: { name: 'Max', categoryId: '7' } }),
  // @ts-expect-error categoryId is required.
  petstore.POST('/pets', { body: { name: 'Max' } }),
  // @ts-expect-error No such path.
  petstore.GET('/pet'),
  // @ts-expect-error No such field.
  created.data.colour,
];
`;

describe('a client made of openapi.yaml by openapi-typescript and openapi-fetch', () => {
  let folder: string;
  let service: Service;
  let program: ts.Program;

  function faults(name: string): string {
    const found = ts.getPreEmitDiagnostics(program, program.getSourceFile(join(folder, name)));
    return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' ')).join('\n');
  }

  beforeAll(async () => {
    service = await Service.start();
    // Inside of the project, where a module finds the packages.
    mkdirSync('test-output', { recursive: true });
    folder = mkdtempSync(join('test-output', 'client-'));
    const types = join(folder, 'petstore.ts');
    await run(process.execPath, ['node_modules/openapi-typescript/bin/cli.js', 'openapi.yaml', '-o', types]);
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'client.ts'), MORE.replace('127.0.0.1:3000', `127.0.0.1:${service.port}`));
    program = ts.createProgram(
      ['petstore.ts', 'client.ts'].map((name) => join(folder, name)),
      {
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.NodeNext,
        strict: true,
        noUncheckedIndexedAccess: true,
        skipLibCheck: true,
        types: ['node'],
      },
    );
  });

  afterAll(async () => {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('compiles, and does the three operations', async () => {
    expect(faults('petstore.ts')).toBe('');
    expect(faults('client.ts')).toBe('');
    program.emit(program.getSourceFile(join(folder, 'client.ts')));
    const { stdout } = await run(process.execPath, [join(folder, 'client.js')], {
      env: { KEY: service.key },
    });
    expect(stdout).toBe(
      "1 [ 'Bella' ]\n" +
        '[{"id":1,"name":"Bella","categoryId":42,"status":"available"},' +
        '{"id":2,"name":"Max","categoryId":7,"status":"sold"},' +
        '["available","available"],' +
        '"pet_not_found","Thu, 05 Dec 2030 00:00:00 GMT"]\n',
    );
  });
});
