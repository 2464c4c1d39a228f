import { applyDecorators, CanActivate, ExecutionContext, UseGuards } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import {
  ApiIncludeEndpoint,
  ApiOperation,
  type ApiOperationOptions,
  ApiQuery,
  type ReferenceObject,
  type SchemaObject,
} from '@nestjs/swagger';
import { quoted } from '../../application/texts.js';
import { ApiError, throwFaults } from './errors/api-error.js';
import { didYouMean } from '../../application/texts.js';
import type { OperationOfInterface } from './request-context.js';
import type { PetStoreRequest } from './server/request.js';

/** The operation that a handler is; undefined if it is none of the interface. */
export const OperationMetadata = Reflector.createDecorator<OperationOfInterface>();

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

type OperationOptions = ApiOperationOptions & { readonly operationId: string; readonly query?: QueryParameters };

/**
 * Makes a handler an operation of the interface, in its document. `Accept` is checked, and a query is rejected unless
 * the operation has query parameters, which its pipe checks.
 */
export function Operation({ query, ...options }: OperationOptions): MethodDecorator {
  return applyDecorators(
    OperationMetadata({ id: options.operationId, deprecated: options.deprecated ?? false }),
    UseGuards(new OperationGuard(query !== undefined)),
    ApiIncludeEndpoint(),
    ApiOperation(options),
    ...Object.entries(query ?? {}).map(([name, { description, schema }]) =>
      ApiQuery({ name, required: false, description, schema }),
    ),
  );
}

/** Rejects a request whose `Accept` excludes JSON, or that has a query although the operation has no parameters. */
class OperationGuard implements CanActivate {
  constructor(private readonly hasParameters: boolean) {}

  canActivate(context: ExecutionContext): true {
    const request = context.getArgByIndex<PetStoreRequest & { readonly query: Query }>(0);
    if (!acceptsJson(request)) throw ApiError.of('not_acceptable');
    if (!this.hasParameters && request.context.target.includes('?')) parseQuery(request.query, {});
    return true;
  }
}

/** Whether `Accept` allows JSON (RFC 9110, section 12.5.1). */
function acceptsJson(request: PetStoreRequest): boolean {
  // Parameters besides the weight, such as a version or a charset, do not exclude JSON.
  const accept = request.headers.accept?.replace(/;(?!\s*q=)[^;,]*/gi, '');
  return request.accepts.call({ headers: { accept } } as PetStoreRequest, 'application/json') !== false;
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
