import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import type { Member } from '../body/json-object.js';
import { Faults } from '../errors/api-error.js';
import { didYouMean, quoted } from '../errors/wording.js';
import { NewPetDto } from './new-pet.dto.js';
import { isField, type NewPetBody, REQUIRED, RULES } from './new-pet.js';

/** The body that these members make; throws one `ApiError` that names every fault, in the order of the text, missing fields last. */
export function checkedPet(members: readonly Member[]): NewPetBody {
  const faults = new Faults();
  const plain: Record<string, unknown> = {};
  const positions = new Map<string, number>();
  for (const [position, { name, value }] of members.entries()) {
    if (positions.has(name)) {
      faults.add('duplicate_field', `${quoted(name)} must be given once.`, position);
      continue;
    }
    positions.set(name, position);
    if (isField(name)) plain[name] = value;
    else {
      const guess = didYouMean(name, Object.keys(RULES));
      faults.add('unknown_field', `${quoted(name)} is not a field of a new pet.${guess}`, position);
    }
  }
  const pet = plainToInstance(NewPetDto, plain);
  for (const { property, constraints } of validateSync(pet)) {
    const position = positions.get(property);
    if (position !== undefined)
      faults.add('invalid_field', `${property} ${Object.values(constraints ?? {})[0]}.`, position);
  }
  for (const [index, name] of REQUIRED.entries()) {
    if (!positions.has(name)) faults.add('missing_field', `${name} is required.`, members.length + index);
  }
  faults.throwIfAny();
  return pet;
}
