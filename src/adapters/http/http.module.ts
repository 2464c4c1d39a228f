import { DynamicModule, Module, Type } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import type { Settings } from '../../settings/settings.js';
import { AuthGuard } from './auth/auth.guard.js';
import { RateLimits } from './auth/rate-limits.js';
import { DocsController } from './docs/docs.controller.js';
import { ApiErrorFilter } from './errors/api-error.filter.js';
import { HealthController } from './health/health.controller.js';
import { otherMethods, UnmatchedController } from './unmatched.js';

@Module({})
export class HttpModule {
  /** `application` exports the services that the `controllers` of the resources need. */
  static of(settings: Settings, application: DynamicModule, controllers: readonly Type<object>[]): DynamicModule {
    const all = [...controllers, HealthController, DocsController];
    return {
      module: HttpModule,
      imports: [application],
      // Routes are compared in this order: those of /v1 come first, the one that matches everything last.
      controllers: [...all, ...otherMethods(all), UnmatchedController],
      providers: [
        { provide: 'SETTINGS', useValue: settings },
        { provide: RateLimits, useFactory: () => RateLimits.open(settings) },
        { provide: APP_GUARD, useClass: AuthGuard },
        { provide: APP_FILTER, useClass: ApiErrorFilter },
      ],
    };
  }
}
