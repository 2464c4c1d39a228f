import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The packed client, installed in a folder in which nothing else is. */
export class PackedClient {
  readonly folder = mkdtempSync(join(tmpdir(), 'petstore-client-'));
  readonly tarball: string;

  constructor() {
    const built = join(this.folder, 'built');
    execFileSync(process.execPath, ['scripts/client.mjs', built]);
    const options = { cwd: this.folder, encoding: 'utf8' } as const;
    this.tarball = join(this.folder, execFileSync('npm', ['pack', '--silent', built], options).trim());
    rmSync(built, { recursive: true });
    this.write('package.json', '{ "type": "module" }');
    this.install(this.tarball);
  }

  /** Installs more beside it. */
  install(...packages: string[]): void {
    execFileSync('npm', ['install', '--silent', ...packages], { cwd: this.folder, stdio: 'pipe' });
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  /** Runs a command in the folder, and resolves to what it prints; rejects if it fails. */
  async run(command: string, ...args: string[]): Promise<string> {
    const { stdout } = await run(command, args, { cwd: this.folder }).catch((error: Error & { stdout: string }) => {
      throw new Error(`${error.message}\n${error.stdout}`);
    });
    return stdout;
  }

  /** The path of a package of the project. */
  static ofProject(name: string): string {
    return resolve('node_modules', name);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A program that uses the client, and prints `DONE`; the first lines are those of the README. */
export function program(baseUrl: string, key: string): string {
  return `import { PetStore, PetStoreError } from 'petstore-client';
const store = new PetStore({ baseUrl: '${baseUrl}', apiKey: '${key}' });
const bella = await store.createPet({ name: 'Bella', categoryId: 9223372036854775807n });
const listed = [];
for await (const pet of store.listPets({ status: 'available', limit: 1 })) listed.push(pet.name);
const found = await store.getPet(bella.id);
const missing = await store.getPet(77_777).catch((error) => PetStoreError.is(error, 'pet_not_found') && error.status);
const closed = new PetStore({ baseUrl: 'http://127.0.0.1:1/v1', apiKey: '${key}', retries: 0 });
const { code } = await closed.getPet(1).catch((error) => error);
const slow = new PetStore({ baseUrl: '${baseUrl}', apiKey: '${key}', timeout: 20, retries: 0, fetch: () => new Promise(() => {}) });
const late = await slow.getPet(1).catch((error) => error.code);
const aborted = await store.getPet(1, { signal: AbortSignal.abort('left') }).catch((reason) => reason);
const seen = [PetStore.stringify(found).replace(/"id":\\d+/, '"id":1'), listed.length > 0, missing, code, late, aborted];
console.log(JSON.stringify(seen));
`;
}

/** What it prints. */
export const PRINTED = JSON.stringify([
  '{"id":1,"name":"Bella","categoryId":9223372036854775807,"status":"available"}',
  ...[true, 404, 'network', 'timeout', 'left'],
]);
