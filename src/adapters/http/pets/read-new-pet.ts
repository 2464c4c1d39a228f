import { Validator } from 'class-validator';
import { kindOf, type Member, NumberLiteral } from '../body/json-object.js';
import { Faults } from '../errors/api-error.js';
import { didYouMean, quoted } from '../errors/wording.js';
import { fieldsOf, keepsRules } from './keeps-rules.js';
import { NewPetDto } from './new-pet.dto.js';
import { GIVEN } from './rules.js';

/** The fields of a new pet: those that have a rule. */
const FIELDS = fieldsOf(NewPetDto);

const keepsAll = keepsRules(NewPetDto);

const OPTIONS = { stopAtFirstError: true, validationError: { target: false, value: false } };

const validator = new Validator();

/** The body that these members make; throws one `ApiError` that names every fault, in the order of the text, missing fields last. */
export function readNewPet(members: readonly Member[]): NewPetDto {
  const faults = new Faults();
  const pet = new NewPetDto();
  const fields = pet as unknown as Record<string, unknown>;
  const positions = new Map<string, number>();
  let position = -1;
  for (const { name, value } of members) {
    position++;
    if (positions.has(name)) {
      faults.add('duplicate_field', `${quoted(name)} must be given once.`, position);
      continue;
    }
    positions.set(name, position);
    if (FIELDS.includes(name)) fields[name] = value;
    else {
      const guess = didYouMean(name, FIELDS);
      faults.add('unknown_field', `${quoted(name)} is not a field of a new pet.${guess}`, position);
    }
  }
  const broken = keepsAll(pet) ? [] : validator.validateSync(pet, OPTIONS);
  for (const [index, { property, constraints }] of broken.entries()) {
    const position = positions.get(property);
    if (position === undefined) faults.add('missing_field', `${property} is required.`, members.length + index);
    else {
      const [message = ''] = Object.values(constraints ?? {});
      faults.add('invalid_field', `${message.replace(GIVEN, () => shown(fields[property]))}.`, position);
    }
  }
  faults.throwIfAny();
  return pet;
}

function shown(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (value instanceof NumberLiteral) return value.text.length > 40 ? `${value.text.slice(0, 40)}…` : value.text;
  return typeof value === 'boolean' || typeof value === 'bigint' ? String(value) : kindOf(value);
}
