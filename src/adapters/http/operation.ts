import { applyDecorators, CanActivate, ExecutionContext, Injectable, UseGuards } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiIncludeEndpoint, ApiOperation, type ApiOperationOptions } from '@nestjs/swagger';
import { ApiError } from './errors/api-error.js';
import type { Request } from './server/request.js';

/** The operationId of a handler. */
export const OperationId = Reflector.createDecorator<string>();

/** Makes a handler an operation of the interface: part of its document, and with a check of `Accept`. */
export function Operation(options: ApiOperationOptions & { readonly operationId: string }): MethodDecorator {
  return applyDecorators(
    OperationId(options.operationId),
    UseGuards(AcceptsJsonGuard),
    ApiIncludeEndpoint(),
    ApiOperation(options),
  );
}

/** Rejects a request whose `Accept` excludes JSON, before it has an effect (RFC 9110, section 12.5.1). */
@Injectable()
class AcceptsJsonGuard implements CanActivate {
  canActivate(context: ExecutionContext): true {
    const request = context.getArgByIndex<Request>(0);
    const { accept } = request.headers;
    // An empty list excludes nothing.
    if (!accept) return true;
    // Parameters besides the weight, such as a version or a charset, do not exclude JSON either.
    request.headers.accept = accept.replace(/;(?!\s*q=)[^;,]*/gi, '');
    if (request.accepts('application/json')) return true;
    throw ApiError.of('not_acceptable');
  }
}
