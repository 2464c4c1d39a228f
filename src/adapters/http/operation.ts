import { applyDecorators, UseGuards } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiIncludeEndpoint, ApiOperation, type ApiOperationOptions } from '@nestjs/swagger';
import { AcceptsJsonGuard } from './body/accepts-json.guard.js';
import { commonFailures, type Headers } from './docs/answers.js';

const OperationId = Reflector.createDecorator<string>();

/** What is said of an operation. */
interface Words extends ApiOperationOptions {
  readonly operationId: string;
  /** What became of the request if the store cannot answer. */
  readonly unavailable: string;
  /** The headers that all its answers have. */
  readonly headers?: Headers;
}

/** Makes a handler an operation of the interface: its name and words, what every operation answers, and the check that its client takes it. */
export function Operation({ unavailable, headers, ...words }: Words): MethodDecorator {
  return applyDecorators(
    OperationId(words.operationId),
    UseGuards(AcceptsJsonGuard),
    ApiIncludeEndpoint(),
    ApiOperation(words),
    ...commonFailures(unavailable, headers),
  );
}

const operations = new WeakMap<object, string | undefined>();

/** The name of the operation that a handler is; undefined if it is none. */
export function operationOf(handler: object): string | undefined {
  if (!operations.has(handler)) operations.set(handler, Reflect.getMetadata(OperationId.KEY, handler) as string);
  return operations.get(handler);
}
