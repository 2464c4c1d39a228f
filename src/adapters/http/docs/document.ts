import { INestApplication } from '@nestjs/common';
import { DocumentBuilder, OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { unreadable } from './answers.js';
import { codeSamples } from './code-samples.js';
import { HttpSettings } from '../http-settings.js';
import { headers } from './headers.js';
import { describedClasses, describedSchemas } from './schemas.js';

const DESCRIPTION = `A catalogue of animals offered in a store: list them, add one, get one.

- **API keys.** Every request carries one, as \`Authorization: Bearer <API_KEY>\`; without a valid key every answer is 401. \
The operator of the service issues keys.
- **Errors.** Every error has the same body: a \`code\` for programs, a \`message\` for people, and the HTTP \`status\`.
- **Exactness.** Identifiers are 64-bit integers, written as JSON numbers and exact. A client that reads JSON numbers as doubles, \
as \`JSON.parse\` of JavaScript does, loses digits above 2^53.
- **Strictness.** A query parameter or a field of a body that is not described here is refused, never ignored.
- **Request ids.** Every answer has an \`X-Request-Id\`; quote it when you ask for help. A request may bring its own: 1 to 64 of \
\`A-Z a-z 0-9 . _ -\`.
`;

/** What a base address that is not set, which is relative, begins with in the code samples: where the service is at home. */
const HOME = 'http://127.0.0.1:3000';

type PathItemObject = OpenAPIObject['paths'][string];
type OperationObject = NonNullable<PathItemObject['get']>;

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
      description: 'An API key that the operator of the service issued.',
    })
    .addSecurityRequirements('apiKey')
    .addTag('pets', 'The animals of the catalogue.')
    .build();
  const { openapi, info, servers, security, tags, paths, components } = SwaggerModule.createDocument(app, builder, {
    onlyIncludeDecoratedEndpoints: true,
    autoTagControllers: false,
    extraModels: describedClasses(),
  });
  return {
    openapi,
    info: { ...info, contact: { name: 'The operator of the service, who issues the API keys' } },
    servers,
    security,
    tags,
    // Paths are relative to the base address, which ends in /v1.
    paths: Object.fromEntries(
      Object.entries(paths).map(([full, item]) => {
        const path = full.replace(/^\/v1/, '');
        return [path, completed(new URL(productionBaseUrl, HOME).href + path, item)];
      }),
    ),
    components: {
      securitySchemes: components?.securitySchemes,
      responses: { Unreadable: unreadable() },
      headers,
      schemas: describedSchemas(components?.schemas ?? {}),
    },
  };
}

/** Adds to each operation of a path what no decorator does: the default answer, which is a reference, and the code samples, made of all the rest. */
function completed(address: string, item: PathItemObject): PathItemObject {
  for (const [method, operation] of Object.entries(item) as [string, Partial<OperationObject>][]) {
    if (!operation.responses) continue;
    operation.responses.default = { $ref: '#/components/responses/Unreadable' };
    Object.assign(operation, { 'x-codeSamples': codeSamples(address, method, operation as OperationObject) });
  }
  return item;
}
