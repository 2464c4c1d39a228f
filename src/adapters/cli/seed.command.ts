import { type Command, InvalidArgumentError } from 'commander';
import { PetService } from '../../application/pets/pet.service.js';
import type { Progress } from '../../messages/progress.js';
import { PET_STATUSES } from '../../domain/pets/pet.js';
import type { Repositories } from '../persistence/persistence.module.js';
import { withRepositories } from './repositories.js';
import type { Output } from './output.js';
import { QUIET } from './progress.js';
import { example, plural } from './text.js';

/** How many sample pets are created at a time: they share commits. */
const BATCH = 256;

/** Adds `seed`. */
export function addSeedCommand(petstore: Command, output: Output): void {
  petstore
    .command('seed')
    .description('create sample pets')
    .requiredOption('--count <n>', 'how many pets to create', count)
    .option(...QUIET)
    .addHelpText('after', example('petstore seed --count 1000'))
    .action(async ({ count, quiet }: { count: number; quiet?: true }) => {
      const create = async ({ pets }: Repositories, progress: Progress) => {
        const ifInterrupted =
          `They stay, and at most ${BATCH} more. ` + 'For the rest, run "seed" again with a smaller --count.';
        progress.begin({ name: 'Creating', amount: { unit: 'pets', total: count }, ifInterrupted });
        const service = new PetService(pets);
        for (let done = 0; done < count; done += BATCH) {
          const size = Math.min(BATCH, count - done);
          await Promise.all(Array.from({ length: size }, (_, i) => service.create(samplePet(done + i + 1))));
          await progress.advance(size);
        }
      };
      await withRepositories('create', output, create, quiet);
      await output.print(`Created ${plural(count, 'pet')}.`);
    });
}

function samplePet(number: number) {
  return { name: `Pet ${number}`, categoryId: BigInt(number % 6), status: PET_STATUSES[number % 3]! };
}

function count(text: string): number {
  if (/^[1-9][0-9]{0,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be an integer from 1 to 9999999.');
}
