import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { buildProgram } from '../../support/program.js';

/** Writes lines of many lengths, whose characters are two bytes each. */
const WRITER = `
const { BatchedOutput } = await import(process.argv[1]);
const output = new BatchedOutput(() => undefined);
for (let i = 0; i < 3000; i++) output.write('[' + 'ü'.repeat(i % 1000) + ']\\n');`;

describe('an output that several processes share', () => {
  it('has each line whole, whatever its length in bytes, and none missing', async () => {
    const writer = `"$0" --input-type=module -e "$1" "$2"`;
    const script = `( ${writer} & ${writer} & wait ) | ( sleep 0.5; dd bs=500 2>/dev/null )`;
    const module = `file://${buildProgram()}/modules/src/adapters/log/batched-output.js`;
    const { stdout } = await promisify(execFile)('sh', ['-c', script, process.execPath, WRITER, module], {
      maxBuffer: 2 ** 26,
    });
    const lines = stdout.trimEnd().split('\n');
    expect(lines.filter((line) => !/^\[ü*\]$/.test(line))).toEqual([]);
    expect(lines).toHaveLength(6_000);
  });
});
