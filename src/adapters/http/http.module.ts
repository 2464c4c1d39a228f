import { DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import type { Settings } from '../../settings/settings.js';
import { AuthGuard } from './auth/auth.guard.js';
import { RateLimits } from './auth/rate-limits.js';
import { BaseUrls } from './base-urls.js';
import { DocsController } from './docs/docs.controller.js';
import { OpenApi } from './docs/document.js';
import { ApiErrorFilter } from './errors/api-error.filter.js';
import { HealthController } from './health/health.controller.js';
import { PetsController } from './pets/pets.controller.js';
import { otherMethods, UnmatchedController } from './unmatched.js';

/** Routes are compared in this order: those of `/v1` come first. */
const CONTROLLERS = [PetsController, HealthController, DocsController];

@Module({})
export class HttpModule {
  /** `application` exports the services that the controllers need. */
  static of(settings: Settings, openApi: OpenApi, application: DynamicModule): DynamicModule {
    return {
      module: HttpModule,
      imports: [application],
      // The one that matches everything comes last.
      controllers: [...CONTROLLERS, ...otherMethods(CONTROLLERS), UnmatchedController],
      providers: [
        { provide: BaseUrls, useValue: settings },
        { provide: OpenApi, useValue: openApi },
        { provide: RateLimits, useFactory: () => RateLimits.open(settings) },
        { provide: APP_GUARD, useClass: AuthGuard },
        { provide: APP_FILTER, useClass: ApiErrorFilter },
      ],
    };
  }
}
