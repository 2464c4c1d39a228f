import { INestApplication } from '@nestjs/common';
import { DocumentBuilder, OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { HttpSettings } from '../http-settings.js';
import './operations.js';
import { schemas } from './schemas.js';

const DESCRIPTION = `Manages a catalogue of animals offered in a store: list them, add one, get one.

Every request needs an API key, sent as \`Authorization: Bearer <API_KEY>\`. Every error has the same body: a \`code\` for programs,
a \`message\` for people, and the HTTP \`status\`. Identifiers are int64 and exact.`;

/** The OpenAPI document of the operations under `/v1`. */
export function openApiDocument(app: INestApplication): OpenAPIObject {
  const { productionBaseUrl, stagingBaseUrl } = app.get(HttpSettings);
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Pet store')
    .setDescription(DESCRIPTION)
    .setVersion('1.0.0')
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .addServer('{base_url}', 'Production', {
      base_url: { default: productionBaseUrl, description: 'The base address of production.' },
    })
    .addServer('{staging_base_url}', 'Staging', {
      staging_base_url: { default: stagingBaseUrl, description: 'The base address of staging.' },
    })
    .addSecurity('apiKey', {
      type: 'http',
      scheme: 'bearer',
      description: 'An API key, as the operator of the service issues them.',
    })
    .addSecurityRequirements('apiKey')
    .addTag('pets', 'The animals of the catalogue.')
    .build();
  const { paths, ...document } = SwaggerModule.createDocument(app, builder, {
    onlyIncludeDecoratedEndpoints: true,
    autoTagControllers: false,
  });
  return {
    ...document,
    // Paths are relative to the base address, which ends in /v1.
    paths: Object.fromEntries(Object.entries(paths).map(([path, item]) => [path.replace(/^\/v1/, ''), item])),
    components: { ...document.components, schemas },
  };
}
