import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '../support/connection.js';
import { freshFolder } from '../support/fresh-folder.js';
import { freePort } from '../support/servers.js';
import { linesOf, until } from '../support/working-folder.js';

const KEY = 'key-of-the-output-test';
const LIST = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`;
const PRODUCTION = { NODE_ENV: 'production' };

const folder = freshFolder();

/** A named pipe, and a descriptor that writes to it; Node's own "pipe" is a pair of sockets. */
function newPipe(): { path: string; input: number } {
  const path = join(folder().path, 'pipe');
  execFileSync('mkfifo', [path]);
  return { path, input: openSync(path, 'r+') };
}

/** What is in a pipe. */
function readPipe(output: number): string {
  const buffer = Buffer.alloc(65_536);
  try {
    return buffer.toString('utf8', 0, readSync(output, buffer));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return '';
    throw error;
  }
}

const isServed = (port: number): Promise<boolean> =>
  Connection.ask(port, LIST, false, 1_000).then(
    ({ status }) => status === 200,
    () => false,
  );

/** Sends this number of requests on one connection. */
async function sendMany(port: number, count: number): Promise<void> {
  const connection = await Connection.open(port);
  for (let i = 0; i < count; i++) {
    connection.write(LIST);
    expect((await connection.answer()).status).toBe(200);
  }
  connection.destroy();
}

describe.each(['1', '2'])('the output of %s process(es)', (count) => {
  it('is JSON in production from the greeting to the end', async () => {
    const service = await folder().serve({ ...PRODUCTION, WEB_CONCURRENCY: count, API_KEYS: KEY });
    expect(await isServed(service.port)).toBe(true);
    expect(await service.end('SIGTERM')).toBe(0);
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const { address } = service;
    const docs = address.replace(/v1$/, 'docs');
    const { lines } = service;
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatchObject({ level: 'info', version, address, docs, msg: 'The pet store is open.' });
    // A worker may write its line of the request after the primary has received the signal.
    expect(lines).toContainEqual(expect.objectContaining({ level: 'info', route: '/v1/pets', status: 200 }));
    expect(lines).toContainEqual(expect.objectContaining({ level: 'info', signal: 'SIGTERM' }));
    expect(lines[3]).toMatchObject({ level: 'info', code: 0, msg: 'The pet store is closed.' });
  });

  it('shows no key in production, and warns once that none is valid', async () => {
    const variables = { ...PRODUCTION, WEB_CONCURRENCY: count };
    const service = await folder().serve(variables);
    expect((await fetch(`${service.address}/pets`)).status).toBe(401);
    expect(await service.end('SIGTERM')).toBe(0);
    const [warning, ...others] = service.lines.filter(({ level }) => level === 'warn');
    expect(warning?.msg).toContain('petstore keys create');
    expect(others).toEqual([]);
    expect(service.log).not.toContain('pets_');
    expect((await folder().run(['keys', 'list'])).out.trimEnd().split('\n')).toHaveLength(1);
    await folder().run(['keys', 'create', '--name', 'shop']);
    const second = await folder().serve(variables);
    expect(await second.end('SIGTERM')).toBe(0);
    expect(second.lines.filter(({ level }) => level === 'warn')).toEqual([]);
    await folder().run(['keys', 'revoke', 'shop']);
    const third = await folder().serve(variables);
    expect(await third.end('SIGTERM')).toBe(0);
    expect(third.lines.filter(({ level }) => level === 'warn')).toMatchObject([{ msg: warning?.msg }]);
  });

  it('may lose its readers', async () => {
    const service = folder().start({ ...PRODUCTION, WEB_CONCURRENCY: count, API_KEYS: KEY });
    await service.greeted(/v1/);
    const { port } = service;
    service.process.stdout?.destroy();
    service.process.stderr?.destroy();
    for (let i = 0; i < 20; i++) expect(await isServed(port)).toBe(true);
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('may lose its readers before the greeting, which is text outside production', async () => {
    const port = await freePort();
    const service = folder().start({ PORT: String(port), WEB_CONCURRENCY: count, API_KEYS: KEY });
    service.process.stdout?.destroy();
    await until(() => isServed(port));
    expect(await service.end('SIGTERM')).toBe(0);
    expect(service.log).toBe('');
  });

  it('may be a full disk', async () => {
    const output = openSync('/dev/full', 'w');
    const port = await freePort();
    const variables = { ...PRODUCTION, PORT: String(port), WEB_CONCURRENCY: count, API_KEYS: KEY };
    const service = folder().start(variables, output);
    await until(() => isServed(port));
    for (let i = 0; i < 20; i++) expect(await isServed(port)).toBe(true);
    expect(await service.end('SIGTERM')).toBe(0);
    closeSync(output);
  });

  it('may be a pipe that nobody reads', async () => {
    const { path, input } = newPipe();
    execFileSync('sh', ['-c', 'dd if=/dev/zero bs=1024 count=64 status=none > "$0"', path]);
    const port = await freePort();
    const variables = { ...PRODUCTION, PORT: String(port), WEB_CONCURRENCY: count, API_KEYS: KEY };
    const service = folder().start(variables, input);
    await until(() => isServed(port));
    // The primary logs that a worker has crashed: not even that may block it.
    for (const pid of service.workers) process.kill(pid, 'SIGKILL');
    await until(() => isServed(port));
    for (let i = 0; i < 20; i++) expect(await isServed(port)).toBe(true);
    expect(await service.end('SIGTERM')).toBe(0);
    closeSync(input);
  });
});

it('a pipe that several workers write their log to has a whole line for each request', async () => {
  const { path, input } = newPipe();
  const output = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const variables = { ...PRODUCTION, WEB_CONCURRENCY: '2', API_KEYS: KEY, PORT: String(await freePort()) };
  const service = folder().start(variables, input);
  let text = '';
  const reading = setInterval(() => (text += readPipe(output)), 1);
  await until(() => text.includes('The pet store is open.'));
  await Promise.all(Array.from({ length: 8 }, () => sendMany(Number(variables.PORT), 100)));
  expect(await service.end('SIGTERM')).toBe(0);
  clearInterval(reading);
  text += readPipe(output);
  expect(linesOf(text).filter(({ route }) => route === '/v1/pets')).toHaveLength(800);
  closeSync(output);
  closeSync(input);
});
