import { applyDecorators, CanActivate, ExecutionContext, UseGuards } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiIncludeEndpoint, ApiOperation, type ApiOperationOptions, ApiQuery } from '@nestjs/swagger';
import { ApiError } from './errors/api-error.js';
import { parseQuery, type Query, type QueryParameters } from './query.js';
import type { OperationOfInterface } from './request-context.js';
import type { PetStoreRequest } from './server/request.js';

/** The operation that a handler is; undefined if it is none of the interface. */
export const OperationMetadata = Reflector.createDecorator<OperationOfInterface>();

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
