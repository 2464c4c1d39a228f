import type { IncomingMessage } from 'node:http';
import { All, Controller, Req, RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { MetadataScanner } from '@nestjs/core';
import { Public } from './auth/auth.guard.js';
import { ApiError } from './errors/api-error.js';
import type { JsonResponse } from './json-response.js';

/** The path of what no route matched. */
export const UNMATCHED = '/{*path}';

/** Matches every path without a route, so that the guard rejects a request without a key before the 404. */
@Controller()
export class UnmatchedController {
  @All(UNMATCHED)
  unmatched(): never {
    throw ApiError.of('route_not_found');
  }
}

/**
 * Controllers for the methods that these ones do not have, on each of their paths. Express matches routes in their
 * order, so they come behind all others.
 */
export function otherMethods(controllers: readonly Type<object>[]): Type[] {
  return controllers.flatMap((controller) => {
    const methods = new Map<string, string[]>();
    for (const name of new MetadataScanner().getAllMethodNames(controller.prototype as object)) {
      const handler = (controller.prototype as Record<string, object>)[name]!;
      const method = Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined;
      if (method === undefined) continue;
      for (const path of [Reflect.getMetadata(PATH_METADATA, handler) as string | string[]].flat())
        methods.set(path, [...(methods.get(path) ?? []), RequestMethod[method]]);
    }
    return [...methods].map(([path, ofPath]) => otherMethodsOf(controller, path, ofPath));
  });
}

/** Answers OPTIONS with 204, and any other method with 405 (RFC 9110, section 15.5.6). */
function otherMethodsOf(controller: Type, path: string, methods: readonly string[]): Type {
  const allow = [...methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : method)), 'OPTIONS'].join(', ');

  @Controller(Reflect.getMetadata(PATH_METADATA, controller) as string)
  class OtherMethods {
    @All(path)
    respond(@Req() { method }: IncomingMessage): JsonResponse {
      if (method === 'OPTIONS') return { status: 204, headers: ['Allow', allow] };
      throw new ApiError('method_not_allowed', `This path supports ${allow}.`, ['Allow', allow]);
    }
  }
  if (Reflect.getMetadata(Public.KEY, controller)) Public()(OtherMethods);
  return OtherMethods;
}
