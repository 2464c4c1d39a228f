import { afterEach, describe, expect, it } from '@jest/globals';
import { attack } from './generated-run.js';
import { ServiceUnderAttack } from './service-under-attack.js';

/** How many requests are sent to each number of processes: 5 seconds' worth by default. */
const REQUESTS = Number(process.env.GENERATED_REQUESTS ?? 10_000);

/** The most memory that a process may take, in MB: that of 200 clients at a time. */
const MEMORY = 400;

describe.each([1, 2])('[short] generated requests to %i process(es)', (workers) => {
  let service: ServiceUnderAttack;

  afterEach(() => service.remove());

  it(
    'are answered in order or rejected, stored if and only if that is acknowledged, and harm nothing',
    async () => {
      // On a busy machine a head in pieces takes longer than it may by default.
      service = await ServiceUnderAttack.start(workers, { REQUEST_TIMEOUT: '60000' });
      const { breaches, summary } = await attack({ port: service.port, requests: REQUESTS });
      process.stdout.write(summary);
      expect(breaches).toEqual([]);
      await service.expectUnharmed(MEMORY);
    },
    120_000 + REQUESTS * 10,
  );
});
