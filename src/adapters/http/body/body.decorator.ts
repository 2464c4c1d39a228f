import { createParamDecorator, type Type } from '@nestjs/common';
import { getMetadataStorage, validateSync } from 'class-validator';
import { type Fault, throwFaults } from '../errors/api-error.js';
import { didYouMean, quoted } from '../errors/wording.js';
import { jsonMembers, kindOf, type Member, NumberLiteral } from './json-object.js';
import { readJsonText } from './read-body.js';
import { GIVEN } from './rules.js';

const OPTIONS = { stopAtFirstError: true, validationError: { target: false, value: false } };

/**
 * The JSON body of a request as an instance of a DTO: `@JsonObject(NewPetDto) pet`. It is read here, after the guards,
 * because the body of a request without a key must not be read. Rejects with an `ApiError` that names every fault.
 */
export function JsonObject<Dto extends object>(dto: Type<Dto>): ParameterDecorator {
  const rules = getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);
  const fields = [...new Set(rules.map(({ propertyName }) => propertyName))];
  return createParamDecorator(async (_data, context) => {
    const http = context.switchToHttp();
    return parseDto(dto, fields, jsonMembers(await readJsonText(http.getRequest(), http.getResponse())));
  })();
}

/** A DTO of these members. Its faults are named in the order of the text, those of fields that are missing last. */
function parseDto<Dto extends object>(dto: Type<Dto>, fields: readonly string[], members: readonly Member[]): Dto {
  const faults: Fault[] = [];
  const values = new Map<string, unknown>();
  const positions = new Map<string, number>();
  for (const [position, { name, value }] of members.entries()) {
    if (positions.has(name)) {
      faults.push({ code: 'duplicate_field', message: `${quoted(name)} must be given once.`, position });
    } else if (fields.includes(name)) values.set(name, value);
    else {
      const message = `${quoted(name)} is not a field of this body.${didYouMean(name, fields)}`;
      faults.push({ code: 'unknown_field', message, position });
    }
    if (!positions.has(name)) positions.set(name, position);
  }
  const instance = Object.assign(new dto(), Object.fromEntries(values));
  for (const [index, { property, constraints }] of validateSync(instance, OPTIONS).entries()) {
    const position = positions.get(property);
    if (position === undefined) {
      faults.push({ code: 'missing_field', message: `${property} is required.`, position: members.length + index });
    } else {
      const [rule = ''] = Object.values(constraints ?? {});
      const message = `${rule.replace(GIVEN, () => shown(values.get(property)))}.`;
      faults.push({ code: 'invalid_field', message, position });
    }
  }
  throwFaults(faults);
  return instance;
}

function shown(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (value instanceof NumberLiteral) return value.text.length > 40 ? `${value.text.slice(0, 40)}…` : value.text;
  return typeof value === 'boolean' || typeof value === 'bigint' ? String(value) : kindOf(value);
}
