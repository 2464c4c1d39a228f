import { beforeAll, describe, expect, it } from '@jest/globals';
import { buildProgram } from '../support/program.js';
import { lastingKinds, storeKinds, StoreKind } from '../support/stores.js';
import { faultsRun } from './faults-run.js';

const { FAULTS_SECONDS = '4', FAULTS_SEED } = process.env;

/** What the numbers of a run are made from: the same has the same faults in the same order, if not at the same moments. */
const SEED = FAULTS_SEED === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(FAULTS_SEED);

/** How many runs a fault of the store may take to be noticed. */
const ATTEMPTS = 5;

const PATIENCE = 120_000 + Number(FAULTS_SECONDS) * 2_000;

describe('a service that has trouble of all kinds with its store', () => {
  let program: string;

  beforeAll(() => {
    program = buildProgram();
  });

  it.each(storeKinds)(
    'on $name loses nothing that it acknowledged, adds nothing twice, answers in time and rightly, or by 503 or 409, and goes on',
    async (kind) => {
      const report = await faultsRun({ program, kind, seed: SEED, seconds: Number(FAULTS_SECONDS) });
      const { faults, answers, acknowledged, slowest, recovery, problems, log } = report;
      process.stdout.write(
        `FAULTS_SEED=${SEED}, ${kind.name}, ${FAULTS_SECONDS} s: ${acknowledged} pets acknowledged, the slowest answer after ${Math.round(slowest)} ms, ` +
          `ready after ${Math.round(recovery)} ms, ${problems.length} problems\n` +
          `  faults: ${listed(faults)}\n  answers: ${listed(answers)}\n${log}`,
      );
      expect(problems).toEqual([]);
      expect(acknowledged).toBeGreaterThan(0);
    },
    PATIENCE,
  );

  it.each([
    ['acknowledges before it commits', 'early', /was acknowledged and is not/],
    ['acknowledges what it does not store', 'drops', /was acknowledged and is not/],
    ['stores twice', 'doubles', / is there (?:more than once|as )/],
    ['acknowledges what it could not store', 'overfull', /was acknowledged and is not/],
  ])(
    'is not taken for one that does if it %s',
    async (_what, saboteur, problem) => {
      const kind = lastingKinds.find(({ name }) => name === 'SQLite') as StoreKind;
      let found = '';
      // A busy machine may come to none of its faults in so short a time.
      for (let attempt = 0; attempt < ATTEMPTS && !problem.test(found); attempt++) {
        const { problems } = await faultsRun({ program, kind, seed: SEED + attempt, seconds: 2, saboteur });
        found = problems.join('\n');
      }
      expect(found).toMatch(problem);
    },
    PATIENCE,
  );
});

function listed(counts: Readonly<Record<string, number>>): string {
  const entries = Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([name, count]) => `${name}: ${count}`).join(', ');
}
