import { type Command, InvalidArgumentError } from 'commander';
import { PetService } from '../../application/pets/pet.service.js';
import { PET_STATUSES } from '../../domain/pets/pet.js';
import { withOpenDatabase } from './open-database.js';
import type { Output } from './output.js';
import { plural } from './text.js';

/** How many sample pets are created at a time: they share commits. */
const BATCH = 256;

/** Adds `seed`. */
export function addSeedCommand(petstore: Command, output: Output): void {
  petstore
    .command('seed')
    .description('create sample pets')
    .requiredOption('--count <n>', 'how many pets to create', count)
    .action(async ({ count }: { count: number }) => {
      await withOpenDatabase('create', output, async ({ pets }) => {
        const service = new PetService(pets);
        for (let done = 0; done < count; done += BATCH) {
          const size = Math.min(BATCH, count - done);
          await Promise.all(Array.from({ length: size }, (_, i) => service.create(samplePet(done + i + 1))));
        }
      });
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
