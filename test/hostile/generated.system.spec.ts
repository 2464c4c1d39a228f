import { afterEach, describe, expect, it } from '@jest/globals';
import { Run } from './generated-run.js';
import { KEY, peakMemory, ServiceUnderAttack } from './service-under-attack.js';

/** How many requests are sent to each number of processes: 10 seconds' worth by default. */
const REQUESTS = Number(process.env.GENERATED_REQUESTS ?? 10_000);

/** What the random numbers of a run are made from; the summary shows it, and GENERATED_SEED repeats it. */
const SEED = Number(process.env.GENERATED_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** The most memory that a process may take, in MB: that of 200 clients at a time. */
const MEMORY = 400;

describe.each([1, 2])('[short] generated requests to %i process(es)', (workers) => {
  let service: ServiceUnderAttack;

  afterEach(() => service.remove());

  it(
    'are answered in order or rejected, stored if and only if that is acknowledged, and harm nothing',
    async () => {
      // On a busy machine a head in pieces takes longer than it may by default.
      service = await ServiceUnderAttack.start(workers, { HEADERS_TIMEOUT: '60000', REQUEST_TIMEOUT: '60000' });
      const run = new Run({ port: service.port, key: KEY, seed: SEED, requests: REQUESTS });
      await run.run();
      process.stdout.write(run.summary());
      expect(run.breaches).toEqual([]);
      await service.expectUnharmed();
      for (const pid of service.pids) expect(peakMemory(pid)).toBeLessThan(MEMORY);
    },
    120_000 + REQUESTS * 10,
  );
});
