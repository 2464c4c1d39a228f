import { beforeAll, describe, expect, it } from '@jest/globals';
import { buildProgram } from '../support/program.js';
import { crashRun } from './crash-run.js';

/** How often the service is killed: a few times in every run of the tests, and more by `npm run test:crash`. */
const KILLS = Number(process.env.CRASH_KILLS ?? 3);

describe('a service that is killed under load', () => {
  let program: string;

  beforeAll(() => {
    program = buildProgram();
  });

  it(
    'keeps every acknowledged animal, adds none twice, and invents none',
    async () => {
      const report = await crashRun(program, KILLS);
      const { kills, intents, acknowledged, retries, found, problems } = report;
      process.stdout.write(
        `crash test: ${kills} kills, ${intents} intents, ${acknowledged} acknowledged, ${retries} sent again by key, ${found} found, ${problems.length} problems\n`,
      );
      expect(problems).toEqual([]);
      expect(acknowledged).toBeGreaterThan(kills);
    },
    20_000 + KILLS * 5_000,
  );

  it.each([
    ['early', 'acknowledges before it commits', /was acknowledged and is not there/],
    ['drops', 'acknowledges what it does not store', /was acknowledged and is not there/],
    ['doubles', 'stores twice', /is there more than once/],
  ])('is not taken for one that keeps its promises when it %s: it %s', async (saboteur, _what, problem) => {
    const { problems } = await crashRun(program, 2, saboteur);
    expect(problems.join('\n')).toMatch(problem);
  });
});
