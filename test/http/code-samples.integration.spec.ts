import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { freePort } from '../support/servers.js';
import { Service } from '../support/service.js';

interface Sample {
  readonly lang: string;
  readonly source: string;
}

type Paths = Record<string, Record<string, { operationId: string; 'x-codeSamples': Sample[] }>>;

/** How a sample is run by who pastes it, and what it prints of an answer. */
const RUNS: Record<string, { command: string[]; shows: (status: number, body: string) => string }> = {
  Shell: { command: ['sh', '-euc'], shows: (_status, body) => body },
  JavaScript: {
    command: [process.execPath, '--input-type=module', '--eval'],
    shows: (status, body) => `${status} ${body}\n`,
  },
  Python: { command: ['python3', '-c'], shows: (status, body) => `${status} ${body}\n` },
};

const BELLA = '{"id":1,"name":"Bella","categoryId":42,"status":"available"}';
const ANOTHER = BELLA.replace('"id":1', '"id":2');

describe('the code samples of the document', () => {
  let service: Service;
  let paths: Paths;

  function sample(operationId: string, lang: string): string {
    const operations = Object.values(paths).flatMap((item) => Object.values(item));
    const samples = operations.find((each) => each.operationId === operationId)?.['x-codeSamples'] ?? [];
    return samples.find((each) => each.lang === lang)?.source ?? '';
  }

  /** Runs a text of a language with nothing but the key in its environment, and resolves to what it prints. */
  async function run(lang: string, source: string): Promise<string> {
    const [program, ...args] = RUNS[lang]?.command as [string, ...string[]];
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, KEY: service.key };
    let [out, err] = ['', ''];
    const child = execFile(program, [...args, source], { env });
    child.stdout?.on('data', (text: string) => (out += text));
    child.stderr?.on('data', (text: string) => (err += text));
    const [code] = (await once(child, 'close')) as [number];
    if (code !== 0) throw new Error(`${lang} ended with ${code}: ${err}`);
    return out;
  }

  beforeEach(async () => {
    const port = await freePort();
    service = await Service.start({ PRODUCTION_BASE_URL: `http://127.0.0.1:${port}/v1` }, undefined, port);
    const document = (await service.send('/openapi.json', { key: false })).body;
    paths = (JSON.parse(document) as { paths: Paths }).paths;
  });

  afterEach(() => service.stop());

  it('are there in three languages for each operation', () => {
    const all = Object.values(paths).flatMap((item) => Object.values(item));
    expect(all.map((each) => [each.operationId, each['x-codeSamples'].map(({ lang }) => lang)])).toEqual(
      ['listPets', 'createPet', 'getPet'].map((operation) => [operation, Object.keys(RUNS)]),
    );
  });

  it.each(Object.entries(RUNS))('do as they stand what their operations are, in %s', async (lang, { shows }) => {
    expect(await run(lang, sample('createPet', lang))).toBe(shows(201, BELLA));
    expect(await run(lang, sample('createPet', lang))).toBe(shows(201, ANOTHER));
    expect(await run(lang, sample('listPets', lang))).toBe(shows(200, `[${ANOTHER},${BELLA}]`));
    expect(await run(lang, sample('getPet', lang))).toBe(shows(200, BELLA));
  });

  it.each([
    ['Shell', /^curl[^]*$/m, '$&\n$&'],
    ['JavaScript', /^const response([^]*)$/m, '{ const response$1 }\n{ const response$1 }'],
    ['Python', /^request = [^]*$/m, '$&\n$&'],
  ])('add a pet once, if the request is sent again, in %s', async (lang, request, twice) => {
    const again = sample('createPet', lang).replace(request, twice);
    const shown = RUNS[lang]?.shows(201, BELLA) ?? '';
    expect(await run(lang, again)).toBe(shown + shown);
    expect((await service.send('/v1/pets')).body).toBe(`[${BELLA}]`);
  });

  it('name an address that has a quote', async () => {
    await service.stop();
    service = await Service.start({ PRODUCTION_BASE_URL: "https://pets.example/it's/v1" });
    const document = (await service.send('/openapi.json', { key: false })).body;
    paths = (JSON.parse(document) as { paths: Paths }).paths;
    expect(sample('createPet', 'Shell')).toContain("curl 'https://pets.example/it'\\''s/v1/pets'");
    expect(sample('createPet', 'JavaScript')).toContain("fetch('https://pets.example/it\\'s/v1/pets'");
    expect(sample('createPet', 'Python')).toContain('"https://pets.example/it\'s/v1/pets"');
  });
});
