import { createParamDecorator, type Type } from '@nestjs/common';
import { type ValidationError, validateSync } from 'class-validator';
import { quoted } from '../../../messages/texts.js';
import { ApiError, throwFaults } from '../errors/api-error.js';
import { didYouMean } from '../../../messages/texts.js';
import type { PetStoreRequest } from '../server/request.js';
import { describeValue, jsonMembers, type Member, valueOf } from './json-object.js';
import { readJsonText } from './read-body.js';
import { GIVEN } from './rules.js';

/**
 * The JSON body of a request as an instance of a DTO: `@JsonObject(NewPetDto) pet`. It is read here, after the guards,
 * because the body of a request without a key must not be read. Rejects with an `ApiError` that names every fault.
 */
export function JsonObject<Dto extends object>(dto: Type<Dto>): ParameterDecorator {
  return createParamDecorator(async (_data, context) => {
    const http = context.switchToHttp();
    const request = http.getRequest<PetStoreRequest>();
    const begun = performance.now();
    const text = await readJsonText(request, http.getResponse());
    // What the client takes to send its body is not taken from the time of the database.
    request.context.deadline += performance.now() - begun;
    return parseDto(dto, jsonMembers(text));
  })();
}

/** A DTO of these members. Its faults are named in the order of the text, those of fields that are missing last. */
function parseDto<Dto extends object>(dto: Type<Dto>, members: readonly Member[]): Dto {
  const instance = new dto();
  // A declared property exists, whether it has a value or not.
  const fields = Object.keys(instance);
  // Reversed: of several values of a name `fromEntries` keeps the last, but the first is to be validated.
  const known = members.filter(([name]) => fields.includes(name)).toReversed();
  Object.assign(instance, Object.fromEntries(known.map(([name, token]) => [name, valueOf(token)])));
  // A nested object that is invalid has no rule of its own.
  const ruleOf = ({ property, constraints }: ValidationError) =>
    Object.values(constraints ?? {})[0] ?? `${property} is invalid`;
  const broken = new Map(validateSync(instance).map((error) => [error.property, ruleOf(error)]));
  const faults: (() => ApiError)[] = [];
  const given = new Set<string>();
  for (const [name, token] of members) {
    const rule = broken.get(name);
    if (!fields.includes(name)) {
      const message = () => `${quoted(name)} is not a field of this body.${didYouMean(name, fields)}`;
      faults.push(() => new ApiError('unknown_field', message()));
    } else if (given.has(name)) {
      faults.push(() => new ApiError('duplicate_field', `${name} must be given once.`));
    } else if (rule !== undefined) {
      faults.push(() => new ApiError('invalid_field', `${rule.replace(GIVEN, () => describeValue(token))}.`));
    }
    given.add(name);
  }
  for (const name of broken.keys()) {
    if (!given.has(name)) faults.push(() => new ApiError('missing_field', `${name} is required.`));
  }
  throwFaults(faults);
  return instance;
}
