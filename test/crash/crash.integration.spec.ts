import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { buildProgram } from '../support/program.js';
import { CrashReport, crashRun } from './crash-run.js';
import { Disk, newDisk } from './disk.js';

/** How often the service is killed: a few times in every run of the tests, and more by `npm run test:crash`. */
const KILLS = Number(process.env.CRASH_KILLS ?? 3);

const PATIENCE = 60_000 + KILLS * 10_000;

function expectPromisesKept({ problems, ...counts }: CrashReport): void {
  const { kills, intents, acknowledged, refused, retries, found, backups, killedBackups, forgotten } = counts;
  process.stdout.write(
    `crash test: ${kills} kills, ${intents} intents, ${acknowledged} acknowledged, ${refused} refused, ${retries} sent again by key, ${found} found, ` +
      `${backups} backups made, ${killedBackups} killed, ${forgotten} keys forgotten, ${problems.length} problems\n`,
  );
  expect(problems).toEqual([]);
  expect(counts.acknowledged).toBeGreaterThan(counts.kills);
}

describe('a service that is killed under load', () => {
  let program: string;
  const disks: Disk[] = [];

  beforeAll(() => {
    program = buildProgram();
  });

  afterEach(() => {
    for (const disk of disks.splice(0)) disk.remove();
  });

  /** A disk that can be full; tells where none can be had. */
  const smallDisk = (): Disk | undefined => {
    // Much is stored before it is full, and each kill leaves the store larger.
    const disk = newDisk(16 + 2 * KILLS);
    if (disk) disks.push(disk);
    else process.stdout.write('crash test: there is neither a right to mount nor prlimit; no disk was filled.\n');
    return disk;
  };

  it(
    'keeps every acknowledged pet, adds none twice, and invents none, if a backup or the forgetting of keys is under way too',
    async () => {
      const report = await crashRun(program, KILLS, { beside: ['nothing', 'backup', 'forgetting'] });
      expectPromisesKept(report);
      expect(report.backups + report.killedBackups).toBe(2 * Math.floor((KILLS + 1) / 3));
      expect(report.forgotten).toBeGreaterThan(0);
    },
    PATIENCE,
  );

  it(
    'does so on a disk that is full, where it answers 503, and stores again once there is room',
    async () => {
      const disk = smallDisk();
      if (!disk) return;
      const report = await crashRun(program, KILLS, { beside: ['full disk'], disk });
      expectPromisesKept(report);
      expect(report.refused).toBeGreaterThan(0);
    },
    PATIENCE,
  );

  it.each([
    ['early', 'acknowledges before it commits', /was acknowledged and is not there/],
    ['drops', 'acknowledges what it does not store', /was acknowledged and is not there/],
    ['doubles', 'stores twice', /is there more than once/],
  ])('is not taken for one that keeps its promises when it %s: it %s', async (saboteur, _what, problem) => {
    const { problems } = await crashRun(program, 2, { saboteur });
    expect(problems.join('\n')).toMatch(problem);
  });

  it('is not taken for one that keeps its promises when it forgets keys before their time', async () => {
    const { problems } = await crashRun(program, 1, { beside: ['forgetting'], saboteur: 'forgets' });
    expect(problems.join('\n')).toMatch(/was acknowledged as .*, and then as/);
  });

  it('is not taken for one that keeps its promises when it acknowledges what does not fit', async () => {
    const disk = smallDisk();
    if (!disk) return;
    const { problems } = await crashRun(program, 1, { beside: ['full disk'], disk, saboteur: 'overfull' });
    expect(problems.join('\n')).toMatch(/was acknowledged and is not there/);
  });
});
