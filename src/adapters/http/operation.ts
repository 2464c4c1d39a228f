import { applyDecorators, CanActivate, ExecutionContext, UseGuards } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiIncludeEndpoint, ApiOperation, type ApiOperationOptions, ApiQuery } from '@nestjs/swagger';
import { ApiError } from './errors/api-error.js';
import { parseQuery, type QueryParameters } from './query/parameters.js';
import type { Request } from './server/request.js';

/** The operationId of a handler. */
export const OperationId = Reflector.createDecorator<string>();

type OperationOptions = ApiOperationOptions & { readonly operationId: string; readonly query?: QueryParameters };

/**
 * Makes a handler an operation of the interface, in its document. `Accept` is checked, and a query is rejected unless
 * the operation has query parameters, which its pipe checks.
 */
export function Operation({ query, ...options }: OperationOptions): MethodDecorator {
  return applyDecorators(
    OperationId(options.operationId),
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
    const request = context.getArgByIndex<Request>(0);
    if (!acceptsJson(request)) throw ApiError.of('not_acceptable');
    if (!this.hasParameters && request.url.includes('?')) parseQuery(request.query, {});
    return true;
  }
}

/** Whether `Accept` allows JSON (RFC 9110, section 12.5.1). */
function acceptsJson(request: Request): boolean {
  const { accept } = request.headers;
  // An empty list excludes nothing.
  if (!accept) return true;
  // Parameters besides the weight, such as a version or a charset, do not exclude JSON; `accepts` reads the header.
  request.headers.accept = accept.replace(/;(?!\s*q=)[^;,]*/gi, '');
  return request.accepts('application/json') !== false;
}
