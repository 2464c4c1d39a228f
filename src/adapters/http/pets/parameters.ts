import { PageQuery } from '../../../application/pets/pet.service.js';
import { PetNotFound } from '../../../application/errors.js';
import { isPetStatus, PET_STATUSES } from '../../../domain/pets/pet.js';
import { Faults } from '../errors/api-error.js';
import { didYouMean, quoted } from '../errors/wording.js';

/** How many pets a page has if the client does not say, and how many it may have at most. */
export const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;

const LIST_PARAMETERS = ['limit', 'status', 'cursor'];

/** Reads the query of listPets; throws one `ApiError` that names every fault, in the order of the query. */
export function pageQuery(query: string): PageQuery {
  const faults = new Faults();
  const given = parameters(query, LIST_PARAMETERS, faults);
  const limit = given.get('limit');
  if (limit && !(/^[1-9][0-9]{0,2}$/.test(limit.value) && Number(limit.value) <= MAX_LIMIT)) {
    faults.add(
      'invalid_parameter',
      `limit must be an integer from 1 to ${MAX_LIMIT}, not ${quoted(limit.value)}.`,
      limit.position,
    );
  }
  const status = given.get('status');
  if (status && !isPetStatus(status.value)) {
    faults.add(
      'invalid_parameter',
      `status must be one of ${PET_STATUSES.join(', ')}, not ${quoted(status.value)}.`,
      status.position,
    );
  }
  faults.throwIfAny();
  return {
    limit: limit ? Number(limit.value) : DEFAULT_LIMIT,
    status: status?.value as PageQuery['status'],
    cursor: given.get('cursor')?.value,
  };
}

/** Reads a petId of a path; throws `PetNotFound` if it is no int64, which is the id of no pet: the documented answers are 200, 401 and 404. */
export function petIdOf(text: string): bigint {
  // 19 digits are the most it can have.
  if (!/^(?:0|-?[1-9][0-9]{0,18})$/.test(text)) throw new PetNotFound();
  return BigInt(text);
}

/** Refuses every query parameter, for an operation that has none. */
export function refuseParameters(query: string): void {
  if (query === '') return;
  const faults = new Faults();
  parameters(query, [], faults);
  faults.throwIfAny();
}

interface Given {
  readonly value: string;
  readonly position: number;
}

function parameters(query: string, known: readonly string[], faults: Faults): Map<string, Given> {
  const given = new Map<string, Given>();
  if (query === '') return given;
  let position = 0;
  // URLSearchParams takes one question mark off the front, which is not of the query.
  for (const [name, value] of new URLSearchParams(`?${query}`)) {
    if (!known.includes(name)) {
      faults.add(
        'unknown_parameter',
        `${quoted(name)} is not a query parameter of this operation.${didYouMean(name, known)}`,
        position,
      );
    } else if (given.has(name)) faults.add('repeated_parameter', `${name} must be given once.`, position);
    else given.set(name, { value, position });
    position++;
  }
  return given;
}
