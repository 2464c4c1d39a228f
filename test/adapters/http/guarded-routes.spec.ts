import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CanActivate, Controller, Get, INestApplication, Module, Post, RequestMethod, UseGuards } from '@nestjs/common';
import { GUARDS_METADATA, METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { MetadataScanner, ModulesContainer, NestFactory } from '@nestjs/core';
import type { Express } from 'express';
import { BearerAuthGuard } from '../../../src/adapters/http/keys/bearer-auth.guard.js';
import { Service } from '../../support/service.js';

/** A route of a Nest application. */
interface Route {
  /** The HTTP method, or `ALL`. */
  readonly method: string;
  readonly path: string;
  readonly guarded: boolean;
}

/** Every route of every controller, with whether this guard stands before it. */
function routesOf(app: INestApplication, guard: unknown = BearerAuthGuard): Route[] {
  const controllers = [...app.get(ModulesContainer).values()].flatMap((module) => [...module.controllers.values()]);
  return controllers.flatMap(({ metatype }) => {
    const prototype = metatype?.prototype as Record<string, object>;
    return new MetadataScanner().getAllMethodNames(prototype).flatMap((name) => {
      const handler = prototype[name] as object;
      const method = Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined;
      if (method === undefined) return [];
      const guarded = [metatype as object, handler].some((target) =>
        ((Reflect.getMetadata(GUARDS_METADATA, target) ?? []) as unknown[]).includes(guard),
      );
      return pathsOf(metatype as object).flatMap((base) =>
        pathsOf(handler).map((path) => ({
          method: RequestMethod[method],
          path: `/${base}/${path}`.replace(/\/+/g, '/').replace(/(?<=.)\/$/, ''),
          guarded,
        })),
      );
    });
  });
}

function pathsOf(target: object): string[] {
  return [Reflect.getMetadata(PATH_METADATA, target) as string | string[]].flat();
}

/** Whether a path, or one that a pattern stands for, lies under `/v1`. */
function isUnderV1(path: string): boolean {
  return /^\/(v1(\/|$)|[:*{])/.test(path);
}

describe('the routes under /v1', () => {
  let service: Service;

  beforeAll(async () => {
    service = await Service.start();
  });

  afterAll(() => service.stop());

  it('all have the guard', () => {
    const routes = routesOf(service.app).filter(({ path }) => isUnderV1(path));
    expect(routes.map(({ method, path }) => `${method} ${path}`)).toEqual(
      expect.arrayContaining(['GET /v1/pets', 'POST /v1/pets', 'ALL /v1/pets', 'GET /v1/pets/:petId']),
    );
    expect(routes.filter(({ guarded }) => !guarded)).toEqual([]);
  });

  it('are all that Express knows, and answer 401 without a key', async () => {
    const { router } = service.app.getHttpAdapter().getInstance() as Express;
    const paths = new Set(router.stack.flatMap(({ route }) => (route ? [route.path] : [])).filter(isUnderV1));
    expect(paths).toEqual(
      new Set(
        routesOf(service.app)
          .map(({ path }) => path)
          .filter(isUnderV1),
      ),
    );
    for (const path of paths) {
      const target = path.replace(/:\w+/g, '1').replace(/\{\*\w+\}/g, 'v1/anything');
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']) {
        const answer = await service.send(target, { method, key: false });
        expect([method, target, answer.status]).toEqual([method, target, 401]);
      }
    }
  });

  it.each([
    '/v1',
    '/v1/',
    '/v1/orders',
    '/v1/pets/',
    '/v1/Pets',
    '/v1/pets/1/2',
    '/v1/%',
    '/v1//pets',
    '/v1?x',
    '/v1/docs',
  ])('are not told from %s, which is none, without a key', async (path) => {
    const answer = await service.send(path, { key: false });
    expect(answer.status).toBe(401);
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'api_key_missing', status: 401 });
    expect((await service.send(path)).status).toBe(404);
  });
});

describe('the walk through the routes', () => {
  it('tells a route without the guard from one that has it, by its class or by itself', async () => {
    class PlantedGuard implements CanActivate {
      canActivate(): boolean {
        return true;
      }
    }

    @Controller('v1/open')
    class OpenController {
      @Get('a')
      a(): void {
        // Not called.
      }

      @Post(['b', 'c'])
      @UseGuards(PlantedGuard)
      b(): void {
        // Not called.
      }
    }

    @Controller('v1/closed')
    @UseGuards(PlantedGuard)
    class ClosedController {
      @Get()
      a(): void {
        // Not called.
      }
    }

    @Module({ controllers: [OpenController, ClosedController] })
    class PlantedModule {}

    const app = await NestFactory.create(PlantedModule, { logger: false, abortOnError: false });
    expect(routesOf(app, PlantedGuard)).toEqual([
      { method: 'GET', path: '/v1/open/a', guarded: false },
      { method: 'POST', path: '/v1/open/b', guarded: true },
      { method: 'POST', path: '/v1/open/c', guarded: true },
      { method: 'GET', path: '/v1/closed', guarded: true },
    ]);
    await app.close();
  });
});
