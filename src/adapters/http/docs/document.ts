import type { INestApplication } from '@nestjs/common';
import {
  DocumentBuilder,
  OpenAPIObject,
  OperationObject,
  ReferenceObject,
  RequestBodyObject,
  ResponseObject,
  SwaggerModule,
} from '@nestjs/swagger';
import { dump } from 'js-yaml';
import type { BaseUrls } from '../base-urls.js';
import { ALWAYS, BODY_ERRORS, BY_STATUS, DEPRECATED, headers, SHARED_ERRORS, UNREADABLE } from './responses.js';
import { schemas } from './schemas.js';
import packageJson from '../../../../package.json' with { type: 'json' };

const DESCRIPTION = `A catalogue of animals offered in a store.

- **API keys.** Every request needs one, as \`Authorization: Bearer <API_KEY>\`. A missing or invalid key gets 401, or \
429 after too many failures from one IP address. The operator of the service issues keys.
- **Errors.** Every error has the same body: a \`code\` for programs, a \`message\` for people, and the HTTP \`status\`.
- **Exactness.** Identifiers are 64-bit integers, exact JSON numbers. A client that parses JSON numbers as doubles, \
as \`JSON.parse\` of JavaScript does, loses digits above 2^53.
- **Strictness.** A query parameter or field of a body that is not described here is rejected, never ignored.
- **Request ids.** Every response has an \`X-Request-Id\`; quote it when you ask for help. A request may have its own: \
1 to 64 of \`A-Z a-z 0-9 . _ -\`.
- **Client.** For JavaScript and TypeScript there is \`petstore-client\`, a package that is built with the service: \
the operator has it.
`;

/** What makes the OpenAPI document. */
export abstract class OpenApi {
  abstract document(): OpenAPIObject;
}

/** The OpenAPI document of the operations below `/v1`. */
export function openApiDocument(
  app: INestApplication,
  { PRODUCTION_BASE_URL, STAGING_BASE_URL }: BaseUrls,
): OpenAPIObject {
  const config = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Pet store')
    .setDescription(DESCRIPTION)
    .setVersion(packageJson.interfaceVersion)
    .addTag('pets', 'The animals of the catalogue.')
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .addServer('{base_url}', 'Production', { base_url: { default: PRODUCTION_BASE_URL } })
    .addServer('{staging_base_url}', 'Staging', { staging_base_url: { default: STAGING_BASE_URL } })
    .addSecurity('apiKey', { type: 'http', scheme: 'bearer' })
    .addSecurityRequirements('apiKey')
    .build();
  config.info.contact = { name: 'The operator of the service, who issues the API keys' };
  config.components = { ...config.components, responses: { Unreadable: UNREADABLE }, headers, schemas };
  const { paths, ...document } = SwaggerModule.createDocument(app, config, { onlyIncludeDecoratedEndpoints: true });
  const schemaOf = ({ $ref }: ReferenceObject) => document.components!.schemas![$ref.split('/').at(-1)!]!;
  const relative: OpenAPIObject['paths'] = {};
  for (const [path, item] of Object.entries(paths)) {
    // Relative to the base address, which ends in /v1.
    relative[path.replace(/^\/v1/, '')] = item;
    const operations = Object.values(item) as OperationObject[];
    // The headers belong to the path: every method of it has them.
    const ofPath = operations.some(({ deprecated }) => deprecated) ? { ...ALWAYS, ...DEPRECATED } : ALWAYS;
    for (const { requestBody, responses } of operations) {
      const body = (requestBody as RequestBodyObject | undefined)?.content['application/json']?.schema;
      // The reader of bodies rejects other fields.
      if (body) Object.assign(schemaOf(body as ReferenceObject), { additionalProperties: false });
      const all = { ...SHARED_ERRORS, ...(body && BODY_ERRORS), ...responses };
      for (const [status, response] of Object.entries(all) as [string, ResponseObject][])
        responses[status] = { ...response, headers: { ...ofPath, ...BY_STATUS[status], ...response.headers } };
      responses.default = { $ref: '#/components/responses/Unreadable' };
    }
  }
  return { ...document, paths: relative };
}

export function openApiYaml(document: OpenAPIObject): string {
  return dump(document, { lineWidth: -1, noRefs: true });
}
