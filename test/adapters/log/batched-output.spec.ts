import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { buildProgram } from '../../support/program.js';

let module: string;

beforeAll(() => {
  module = `file://${buildProgram()}/modules/src/adapters/log/batched-output.js`;
});

/** What a script begins with: an output that tells of dropped lines in a line. */
const OUTPUT = `
const { BatchedOutput } = await import(process.argv[1]);
const { setTimeout: delay } = await import('node:timers/promises');
process.stdout.on('error', () => undefined);
const output = new BatchedOutput((lines) => output.write('dropped ' + lines + '\\n'));
`;

/** Writes lines of many lengths, whose characters are two bytes each. */
const MANY_LENGTHS = `${OUTPUT}
for (let i = 0; i < 3000; i++) output.write('[' + 'ü'.repeat(i % 1000) + ']\\n');`;

/** How many lines of 100 bytes come while nobody reads; 100 MB. */
const FLOOD = 1_000_000;

/** Writes more than may wait, tells how much memory that took, and goes on once it is told to. */
const MORE_THAN_MAY_WAIT = `${OUTPUT}
const before = process.memoryUsage().rss;
for (let i = 0; i < ${FLOOD}; i++) {
  output.write(String(i).padStart(99, '.') + '\\n');
  if (i % 1000 === 0) await new Promise(setImmediate);
}
process.send(process.memoryUsage().rss - before);
await new Promise((resolve) => process.once('message', resolve));
process.disconnect();`;

/** Writes a line now and then. */
const NOW_AND_THEN = `${OUTPUT}
for (let i = 0; i < 1000; i++) {
  output.write(i + '\\n');
  await delay(10);
}`;

/** Writes lines until it is told to stop, and tells how many those were. */
const UNTIL_TOLD = `${OUTPUT}
let [told, lines] = [false, 0];
process.once('message', () => (told = true));
for (; !told; lines++) {
  output.write('[' + String(lines).padStart(200, '.') + ']\\n');
  await delay(1);
}
await delay(2000);
process.send(lines);
process.disconnect();`;

/** Writes to a pipe that is full, and ends. */
const AND_ENDS = `${OUTPUT}
output.write('one\\n');
await delay(100);
output.write('two\\n');
process.exit(3);`;

describe('an output that several processes share', () => {
  it('has each line whole, whatever its length in bytes, and none missing', async () => {
    const writer = `"$0" --input-type=module -e "$1" "$2"`;
    const script = `( ${writer} & ${writer} & wait ) | ( sleep 0.3; dd bs=500 2>/dev/null )`;
    const { stdout } = await promisify(execFile)('sh', ['-c', script, process.execPath, MANY_LENGTHS, module], {
      maxBuffer: 2 ** 26,
    });
    const lines = stdout.trimEnd().split('\n');
    expect(lines.filter((line) => !/^\[ü*\]$/.test(line))).toEqual([]);
    expect(lines).toHaveLength(6_000);
  });

  it.each(['>', '>>'])('has the same if it is a file, by %s', async (redirection) => {
    const folder = mkdtempSync(join(tmpdir(), 'petstore-output-'));
    const file = join(folder, 'log');
    const writer = `"$0" --input-type=module -e "$1" "$2"`;
    const script = `( ${writer} & ${writer} & wait ) ${redirection} '${file}'`;
    await promisify(execFile)('sh', ['-c', script, process.execPath, MANY_LENGTHS, module]);
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    rmSync(folder, { recursive: true });
    expect(lines.filter((line) => !/^\[ü*\]$/.test(line))).toEqual([]);
    expect(lines).toHaveLength(6_000);
  });
});

describe('an output that is a file', () => {
  it('has every line, whole and once, if it took no more for a while', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'petstore-output-'));
    const file = join(folder, 'log');
    const output = openSync(file, 'w');
    // A file that may grow no further, in the midst of a line, is as full as its disk; the signal that says so would end the process.
    const script = `trap '' XFSZ; exec prlimit --fsize=20480: "$0" --input-type=module -e "$1" "$2"`;
    const writer = spawn('sh', ['-c', script, process.execPath, UNTIL_TOLD, module], {
      stdio: ['ignore', output, 'inherit', 'ipc'],
    });
    closeSync(output);
    try {
      while (statSync(file).size < 20_480) await delay(10);
      await delay(500);
      execFileSync('prlimit', ['--fsize=unlimited:', '--pid', String(writer.pid)]);
      writer.send('stop');
      const [count] = (await once(writer, 'message')) as [number];
      if (writer.exitCode === null) await once(writer, 'exit');
      const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
      expect(lines).toEqual(Array.from({ length: count }, (_, i) => `[${String(i).padStart(200, '.')}]`));
      expect(count).toBeGreaterThan(110);
    } finally {
      writer.kill('SIGKILL');
      rmSync(folder, { recursive: true });
    }
  });
});

describe('an output that nobody reads', () => {
  let folder: string;
  let pipe: string;
  let writer: ChildProcess | undefined;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'petstore-output-'));
    pipe = join(folder, 'pipe');
    // Node's own "pipe" is a pair of sockets.
    execFileSync('mkfifo', [pipe]);
  });

  afterEach(() => {
    writer?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  const reader = (): number => openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);

  function start(script: string): ChildProcess {
    const output = openSync(pipe, 'w');
    const args = ['--input-type=module', '-e', script, module];
    writer = spawn(process.execPath, args, { stdio: ['ignore', output, 'inherit', 'ipc'] });
    closeSync(output);
    return writer;
  }

  it('takes no more memory than is bounded, and tells how many lines it dropped once somebody reads', async () => {
    const input = reader();
    const flooding = start(MORE_THAN_MAY_WAIT);
    const [memory] = (await once(flooding, 'message')) as [number];
    expect(memory).toBeLessThan(60 * 2 ** 20);
    const ended = once(flooding, 'exit');
    const rest = promisify(execFile)('cat', [pipe], { maxBuffer: 2 ** 28 });
    flooding.send('go on');
    expect(await ended).toEqual([0, null]);
    const lines = (await rest).stdout.trimEnd().split('\n');
    closeSync(input);
    const told = lines.filter((line) => line.startsWith('dropped'));
    expect(told).toHaveLength(1);
    const dropped = Number(told[0]?.split(' ')[1]);
    expect(dropped).toBeGreaterThan(FLOOD / 2);
    const written = lines.filter((line) => !line.startsWith('dropped'));
    expect(written).toHaveLength(FLOOD - dropped);
    expect(written.every((line, i) => line === String(i).padStart(99, '.'))).toBe(true);
  });

  it('goes on when another one reads, and tells how many lines are missing', async () => {
    let input = reader();
    const writing = start(NOW_AND_THEN);
    const text = async (end: RegExp): Promise<string> => {
      let read = '';
      const buffer = Buffer.alloc(65_536);
      while (!end.test(read)) {
        try {
          read += buffer.toString('latin1', 0, readSync(input, buffer));
        } catch (error) {
          expect((error as NodeJS.ErrnoException).code).toBe('EAGAIN');
        }
        await delay(10);
      }
      return read;
    };
    const before = await text(/^5\n/m);
    closeSync(input);
    await delay(300);
    input = reader();
    const after = await text(/^dropped \d+\n\d+\n/m);
    closeSync(input);
    expect(writing.exitCode).toBeNull();
    const last = Number(before.trimEnd().split('\n').at(-1));
    const [, dropped, next] = /^dropped (\d+)\n(\d+)\n/m.exec(after) as unknown as [string, string, string];
    // What the first one left in the pipe comes before.
    const left = (after.slice(0, after.indexOf('dropped')).match(/^\d+$/gm) ?? []).map(Number);
    expect(left).toEqual([...left].sort((one, other) => one - other));
    // What came in a batch with the lines that were lost was read by nobody.
    expect(Number(next) - last - 1 - left.length).toBeGreaterThanOrEqual(Number(dropped));
    expect(Number(dropped)).toBeGreaterThan(10);
    expect(Number(next)).toBeGreaterThan(left.at(-1) ?? last);
  });

  it('holds up the end of the process for half a second', async () => {
    const input = openSync(pipe, 'r+');
    execFileSync('sh', ['-c', 'dd if=/dev/zero bs=1024 count=64 status=none > "$0"', pipe]);
    const began = performance.now();
    const ended = once(start(AND_ENDS), 'exit');
    expect(await ended).toEqual([3, null]);
    expect(performance.now() - began).toBeGreaterThan(500);
    expect(performance.now() - began).toBeLessThan(5_000);
    closeSync(input);
  });
});
