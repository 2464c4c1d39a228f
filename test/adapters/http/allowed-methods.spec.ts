import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { All, Controller, Delete, Get, INestApplication, Module, Patch, Req, Res } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Express } from 'express';
import { ApiErrorFilter } from '../../../src/adapters/http/errors/api-error.filter.js';
import { answerOtherMethod, type RoutedRequest } from '../../../src/adapters/http/unmatched/method-not-allowed.js';
import { expectError } from '../../support/error-body.js';
import { Service } from '../../support/service.js';

const ORIGIN = 'https://shop.example';

/** The paths of an application that have operations, each with the methods of these. */
function operations(app: INestApplication): Map<string, Set<string>> {
  const { router } = app.getHttpAdapter().getInstance() as Express;
  const found = new Map<string, Set<string>>();
  for (const { route } of router.stack) {
    const methods = route?.stack.map(({ method }) => method.toUpperCase()) ?? [];
    // What takes PROPFIND takes every method, and is no operation.
    if (!route || methods.includes('PROPFIND')) continue;
    found.set(route.path, new Set([...(found.get(route.path) ?? []), ...methods]));
  }
  return found;
}

describe('the methods of the service', () => {
  let service: Service;

  beforeAll(async () => {
    service = await Service.start({ CORS_ORIGINS: ORIGIN });
  });

  afterAll(() => service.stop());

  it('are told on every path that has an operation, to any other method', async () => {
    const paths = operations(service.app);
    expect([...paths.keys()]).toEqual(expect.arrayContaining(['/', '/docs', '/health/live', '/v1/pets/:petId']));
    for (const [path, methods] of paths) {
      const allowed = [...methods].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
      const target = path.replace(/:\w+/g, '1');
      const answer = await service.send(target, { method: 'PROPFIND' });
      const { message } = expectError(answer, 'method_not_allowed');
      expect([path, answer.headers.allow?.split(', ')]).toEqual([path, [...allowed, 'OPTIONS']]);
      expect(message).toBe(`This path takes ${answer.headers.allow}.`);
      for (const method of allowed) {
        expect([path, method, (await service.send(target, { method })).status]).not.toEqual([path, method, 405]);
      }
    }
  });

  it('are all allowed to the pages of other origins, if they are under /v1', async () => {
    const headers = { Origin: ORIGIN, 'Access-Control-Request-Method': 'GET' };
    const answer = await service.send('/v1/pets', { method: 'OPTIONS', headers, key: false });
    const allowed = answer.headers['access-control-allow-methods']?.split(',');
    const used = [...operations(service.app)].flatMap(([path, methods]) =>
      path.startsWith('/v1') ? [...methods] : [],
    );
    expect(used).toEqual(expect.arrayContaining(['GET', 'POST']));
    expect(allowed).toEqual(expect.arrayContaining([...used, 'HEAD']));
  });
});

describe('an operation that is added', () => {
  let app: INestApplication;

  afterAll(() => app.close());

  @Controller()
  class OldController {
    @Get('things/:id')
    get(): void {
      // Not called.
    }

    @Patch('things')
    patch(): void {
      // Of another path.
    }
  }

  @Controller('things/:thingId')
  class NewController {
    @Delete()
    remove(): void {
      // Not called.
    }

    @All()
    otherMethod(@Req() request: RoutedRequest, @Res() response: ServerResponse): void {
      answerOtherMethod(request, response);
    }
  }

  @Controller()
  class LastController {
    @All('{*path}')
    unmatched(): void {
      // Of every path.
    }
  }

  it('is among the allowed ones, whatever its parameter is called, and no method of another path is', async () => {
    @Module({ controllers: [OldController, NewController, LastController] })
    class PlantedModule {}

    app = await NestFactory.create(PlantedModule, { logger: false, abortOnError: false });
    app.useGlobalFilters(new ApiErrorFilter());
    await app.listen(0, '127.0.0.1');
    const url = `${await app.getUrl()}/things/1?a=/things`;
    const [put, options] = [await fetch(url, { method: 'PUT' }), await fetch(url, { method: 'OPTIONS' })];
    expect([put.status, options.status]).toEqual([405, 204]);
    for (const { headers } of [put, options]) expect(headers.get('allow')).toBe('GET, HEAD, DELETE, OPTIONS');
  });
});
