import type { ReferenceObject, SchemaObject } from '@nestjs/swagger';
import { quoted } from '../../../application/errors.js';
import { ApiError, throwFaults } from '../errors/api-error.js';
import { didYouMean } from '../errors/did-you-mean.js';

/** An optional query parameter. */
interface QueryParameter {
  readonly description: string;
  readonly schema: SchemaObject | ReferenceObject;
  /** What an invalid value should be, such as `a number`; undefined if the value is valid. */
  readonly fault?: (value: string) => string | undefined;
}

/** The query parameters of an operation, by name. */
export type QueryParameters = Readonly<Record<string, QueryParameter>>;

/** A query as Express parses it: a repeated parameter is an array. */
export type Query = Readonly<Record<string, unknown>>;

/** The values by name. Throws an `ApiError` that names every parameter that is unknown, repeated or invalid. */
export function parseQuery(query: Query, parameters: QueryParameters): Record<string, string> {
  const names = Object.keys(parameters);
  const faults: (() => ApiError)[] = [];
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(query)) {
    const parameter = names.includes(name) ? parameters[name] : undefined;
    if (!parameter) {
      const has = `It has ${names.join(', ') || 'none'}.`;
      const isNone = () => `${quoted(name)} is not a query parameter of this operation. ${has}`;
      faults.push(() => new ApiError('unknown_parameter', `${isNone()}${didYouMean(name, names)}`));
      continue;
    }
    const [first = '', ...others] = [value].flat() as string[];
    const fault = parameter.fault?.(first);
    if (fault !== undefined) {
      faults.push(() => new ApiError('invalid_parameter', `${name} must be ${fault}, not ${quoted(first)}.`));
    }
    if (others.length > 0) faults.push(() => new ApiError('repeated_parameter', `${name} must be given once.`));
    values[name] = first;
  }
  throwFaults(faults);
  return values;
}
