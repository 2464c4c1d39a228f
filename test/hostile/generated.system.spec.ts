import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { attack } from './generated-run.js';
import { KEY, ServiceUnderAttack } from './under-attack.js';

const { HOSTILE_SECONDS = '5', HOSTILE_REQUESTS, HOSTILE_SEED, HOSTILE_WORKERS } = process.env;

/** What the numbers of a run are made from, so that it can be had again. */
const SEED = HOSTILE_SEED === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(HOSTILE_SEED);

/** How much more memory a process may have behind a run than before, in kB. */
const GROWTH = 200 * 1024;

describe.each(HOSTILE_WORKERS === undefined ? [1, 2] : [Number(HOSTILE_WORKERS)])(
  'generated requests to %i processes',
  (workers) => {
    let service: ServiceUnderAttack;

    beforeAll(async () => {
      // On a busy machine a head that is sent byte by byte takes longer than one may.
      service = await ServiceUnderAttack.start(workers, { HEADERS_TIMEOUT: '60000', REQUEST_TIMEOUT: '60000' });
    }, 60_000);

    afterAll(() => service.remove());

    it(
      'are answered rightly and in order, or refused; stored if that was said; and harm nothing',
      async () => {
        const before = service.pids.map(residentMemory);
        const report = await attack({
          port: service.port,
          key: KEY,
          seed: SEED,
          seconds: Number(HOSTILE_SECONDS),
          requests: HOSTILE_REQUESTS === undefined ? undefined : Number(HOSTILE_REQUESTS),
        });
        process.stdout.write(
          `HOSTILE_SEED=${SEED}, ${workers} processes: ${report.summary()}\n\n${report.breaches.join('\n\n')}\n`,
        );
        expect(report.breaches).toEqual([]);
        await service.expectUnharmed();
        for (const [index, pid] of service.pids.entries()) {
          expect(residentMemory(pid) - (before[index] as number)).toBeLessThan(GROWTH);
        }
      },
      HOSTILE_REQUESTS === undefined ? 120_000 + Number(HOSTILE_SECONDS) * 2_000 : 86_400_000,
    );
  },
);

function residentMemory(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
