import { applyDecorators, UseGuards } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiIncludeEndpoint, ApiOperation } from '@nestjs/swagger';
import { AcceptsJsonGuard } from './body/accepts-json.guard.js';
import { failed, type Headers, notAcceptable, tooMany, unauthorized, unavailable } from './docs/answers.js';

const OperationId = Reflector.createDecorator<string>();

/** What is said of an operation. */
interface Words {
  readonly operationId: string;
  readonly tags: string[];
  readonly summary: string;
  readonly description: string;
  readonly deprecated?: boolean;
  /** What became of the request if the store cannot answer. */
  readonly unavailable: string;
  /** The headers that all its answers have. */
  readonly headers?: Headers;
}

/** Makes a handler an operation of the interface: its name and words, and what every operation may answer. */
export function Operation({ unavailable: outcome, headers, ...words }: Words): MethodDecorator {
  return applyDecorators(
    OperationId(words.operationId),
    UseGuards(AcceptsJsonGuard),
    ApiIncludeEndpoint(),
    ApiOperation(words),
    unauthorized(headers),
    tooMany(headers),
    notAcceptable(headers),
    unavailable(outcome, headers),
    failed(headers),
  );
}

/** The name of the operation that a handler is; undefined if it is none. */
export function operationOf(handler: object): string | undefined {
  return Reflect.getMetadata(OperationId.KEY, handler) as string | undefined;
}
