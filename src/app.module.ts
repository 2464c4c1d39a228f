import { DynamicModule, FactoryProvider, Module } from '@nestjs/common';
import { HttpModule } from './adapters/http/http.module.js';
import { PetsController } from './adapters/http/pets/pets.controller.js';
import type { DatabaseObserver } from './adapters/persistence/database-observer.js';
import { PersistenceModule } from './adapters/persistence/persistence.module.js';
import { ScheduledTasks } from './adapters/schedule/scheduled-tasks.js';
import { ApiKeyRepository } from './application/keys/api-key-repository.port.js';
import { ApiKeyService } from './application/keys/api-key.service.js';
import { Authenticator } from './application/keys/authenticator.js';
import { PetRepository } from './application/pets/pet-repository.port.js';
import { PetService } from './application/pets/pet.service.js';
import type { Settings } from './settings.js';

/** The application services, which are plain classes, on the database that the settings name. */
@Module({})
export class ApplicationModule {
  static of(settings: Settings, observers: readonly DatabaseObserver[]): DynamicModule {
    const { DATABASE_URL, API_KEYS } = settings;
    return {
      module: ApplicationModule,
      imports: [PersistenceModule.forUrl(DATABASE_URL, settings, together(observers))],
      providers: [
        provide(PetService, PetRepository),
        provide(ApiKeyService, ApiKeyRepository),
        provide(Authenticator, ApiKeyRepository, API_KEYS),
        ScheduledTasks,
      ],
      exports: [PetService, Authenticator],
    };
  }
}

/** Provides an application service with the port, and the settings, that it needs. */
function provide<Port, Rest extends unknown[]>(
  service: new (port: Port, ...rest: Rest) => object,
  port: abstract new () => Port,
  ...rest: Rest
): FactoryProvider {
  return { provide: service, useFactory: (adapter: Port) => new service(adapter, ...rest), inject: [port] };
}

/**
 * The composition root: the only place where the core meets its adapters. Nest shuts a module down before its imports,
 * so the database closes last.
 */
@Module({})
export class AppModule {
  /** `observers` see what the database does. */
  static of(settings: Settings, observers: readonly DatabaseObserver[]): DynamicModule {
    const application = ApplicationModule.of(settings, observers);
    return {
      module: AppModule,
      imports: [application, HttpModule.of(settings, application, [PetsController])],
      // For their lifecycle hooks.
      providers: observers.map((observer) => ({ provide: observer.constructor, useValue: observer })),
    };
  }
}

/** Runs each query and commit inside all observers, the last one outermost. */
function together(observers: readonly DatabaseObserver[]): DatabaseObserver {
  return {
    query: (summary, run) => observers.reduce((inner, each) => () => each.query(summary, inner), run)(),
    commit: (pets, run) => observers.reduce((inner, each) => () => each.commit(pets, inner), run)(),
  };
}
