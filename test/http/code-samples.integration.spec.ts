import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Service } from '../support/service.js';

interface Operation {
  readonly operationId: string;
  readonly 'x-codeSamples': readonly { readonly lang: string; readonly source: string }[];
}

const BELLA = '{"id":1,"name":"Bella","categoryId":42,"status":"available"}';
const ANOTHER = BELLA.replace('"id":1', '"id":2');

describe('the code samples of the document', () => {
  let service: Service;

  beforeEach(async () => {
    service = await Service.start();
  });

  afterEach(() => service.stop());

  async function sample(operationId: string): Promise<string> {
    const document = (await service.send('/openapi.json', { key: false })).body;
    const { paths } = JSON.parse(document) as { paths: Record<string, Record<string, Operation>> };
    const operations = Object.values(paths).flatMap((item) => Object.values(item));
    const [curl, ...others] = operations.find((each) => each.operationId === operationId)?.['x-codeSamples'] ?? [];
    expect([curl?.lang, others]).toEqual(['Shell', []]);
    return curl?.source ?? '';
  }

  /** Runs a sample with nothing but the key in its environment, and resolves to what it prints. */
  async function run(source: string): Promise<string> {
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, KEY: service.key };
    return (await promisify(execFile)('sh', ['-euc', source], { env })).stdout;
  }

  it('call the instance that serves it, as they stand', async () => {
    expect(await run(await sample('createPet'))).toBe(BELLA);
    expect(await run(await sample('createPet'))).toBe(ANOTHER);
    expect(await run(await sample('listPets'))).toBe(`[${ANOTHER},${BELLA}]`);
    expect(await run(await sample('getPet'))).toBe(BELLA);
  });

  it('add a pet once if the request is retried', async () => {
    expect(await run((await sample('createPet')).replace(/^curl[^]*$/m, '$&\n$&'))).toBe(BELLA + BELLA);
    expect((await service.send('/v1/pets')).body).toBe(`[${BELLA}]`);
  });

  it('call PUBLIC_BASE_URL, if it is set', async () => {
    await service.stop();
    service = await Service.start({ PUBLIC_BASE_URL: "https://pets.example/it's/v1" });
    expect(await sample('createPet')).toContain("curl 'https://pets.example/it'\\''s/v1/pets'");
  });
});
