import type { ReferenceObject, SchemaObject } from '@nestjs/swagger';
import { quoted } from '../../../application/errors.js';
import { ApiError, throwFaults } from '../errors/api-error.js';
import { didYouMean } from '../errors/did-you-mean.js';

/** An optional query parameter: its documentation, and what an invalid value should be, such as `a number`. */
interface QueryParameter {
  readonly description: string;
  readonly schema: SchemaObject | ReferenceObject;
  readonly rule?: (value: string) => string | undefined;
}

/** The query parameters of an operation, by name. */
export type QueryParameters = Readonly<Record<string, QueryParameter>>;

/** The values by name. Throws an `ApiError` that names every parameter that is unknown, repeated or invalid. */
export function parseQuery(query: URLSearchParams, parameters: QueryParameters): Record<string, string> {
  const names = Object.keys(parameters);
  const faults: ApiError[] = [];
  const given: Record<string, string> = {};
  for (const [name, value] of query) {
    const rule = parameters[name]?.rule?.(value);
    if (!names.includes(name)) {
      const has = `It has ${names.join(', ') || 'none'}.`;
      const message = `${quoted(name)} is not a query parameter of this operation. ${has}${didYouMean(name, names)}`;
      faults.push(new ApiError('unknown_parameter', message));
    } else if (Object.hasOwn(given, name)) {
      faults.push(new ApiError('repeated_parameter', `${name} must be given once.`));
    } else if (rule !== undefined) {
      faults.push(new ApiError('invalid_parameter', `${name} must be ${rule}, not ${quoted(value)}.`));
    }
    given[name] = value;
  }
  throwFaults(faults);
  return given;
}
