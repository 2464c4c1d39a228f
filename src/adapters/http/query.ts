import type { ReferenceObject, SchemaObject } from '@nestjs/swagger';
import { didYouMean, quoted } from '../../messages/texts.js';
import { ApiError, throwFaults } from './errors/api-error.js';

/** An optional query parameter. */
interface QueryParameter {
  readonly description: string;
  readonly schema: SchemaObject | ReferenceObject;
  /** What an invalid value should be, such as `a number`; undefined if the value is valid. */
  readonly expected?: (value: string) => string | undefined;
}

/** The query parameters of an operation, by name. */
export type QueryParameters = Readonly<Record<string, QueryParameter>>;

/** A query in the order of its text. */
export type Query = readonly (readonly [name: string, value: string])[];

/**
 * Express's query parser: it makes `request.query` of the text. By default parameters behind the thousandth would be
 * ignored, and their order lost.
 */
export function splitQuery(text: string | null): Query {
  return [...new URLSearchParams(`?${text ?? ''}`)];
}

/** The values by name. Throws an `ApiError` that names every parameter that is unknown, repeated or invalid. */
export function parseQuery(query: Query, parameters: QueryParameters): Record<string, string> {
  const names = Object.keys(parameters);
  const known = names.join(', ') || 'none';
  const faults: (() => ApiError)[] = [];
  const values: Record<string, string> = {};
  for (const [name, value] of query) {
    const parameter = names.includes(name) ? parameters[name] : undefined;
    const expected = parameter?.expected?.(value);
    if (!parameter) {
      const message = () => `${quoted(name)} is not a query parameter of this operation. It has ${known}.`;
      faults.push(() => new ApiError('unknown_parameter', message() + didYouMean(name, names)));
    } else if (name in values) {
      faults.push(() => new ApiError('repeated_parameter', `${name} must be given once. The parameters are ${known}.`));
    } else if (expected !== undefined) {
      faults.push(() => new ApiError('invalid_parameter', `${name} must be ${expected}, not ${quoted(value)}.`));
    }
    if (parameter) values[name] ??= value;
  }
  throwFaults(faults);
  return values;
}
