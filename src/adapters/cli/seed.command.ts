import { Command, InvalidArgumentError } from 'commander';
import { PetService } from '../../application/pets/pet.service.js';
import { Actions, Print, Surroundings } from './actions.js';
import { addExamples } from './examples.js';
import { plausiblePets } from './plausible-pets.js';
import { ProgressBar } from './progress-bar.js';

/** How many pets are added at a time: they share commits. */
const BATCH = 256;

const MAX_COUNT = 10_000_000;

/** Adds `seed`, which adds plausible pets, so that there is something to look at. The progress is drawn on the terminal. */
export function addSeedCommand(petstore: Command, actions: Actions, print: Print, { terminal }: Surroundings): void {
  const seed = petstore
    .command('seed')
    .description('add plausible animals, so that there is something to look at')
    .requiredOption('--count <n>', 'how many', integer(1, MAX_COUNT))
    .option('--seed <n>', 'which ones: the same number gives the same animals', integer(0, 2 ** 31 - 1), 1)
    .action(async ({ count, seed }: { count: number; seed: number }) => {
      await actions.withPets((pets) => add(pets, count, seed, new ProgressBar(terminal)));
      print(`Added ${count} ${count === 1 ? 'animal' : 'animals'}.`);
    });
  addExamples(seed, 'seed --count 1000');
}

async function add(pets: PetService, count: number, seed: number, bar: ProgressBar): Promise<void> {
  const source = plausiblePets(seed);
  for (let done = 0; done < count;) {
    const batch = Array.from({ length: Math.min(BATCH, count - done) }, () => source.next().value);
    await Promise.all(batch.map((pet) => pets.create(pet)));
    done += batch.length;
    bar.show(done, count, 'pets added');
  }
  bar.end();
}

function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    if (/^[0-9]{1,10}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
    throw new InvalidArgumentError(`It must be an integer from ${min} to ${max}.`);
  };
}
