import { join } from 'node:path';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { NextFunction, Request, Response } from 'express';
import { HttpSettings } from '../http-settings.js';
import { openApiDocument } from './document.js';

/** The base address of a setting that is not set: this instance. */
const HERE = '/v1';

/** Where page.css and page.js are; `bundle.mjs` copies them beside the bundle. */
const ASSETS = join(import.meta.dirname, 'assets');

/** Serves Swagger UI at `/docs`, and `/openapi.json` and `/openapi.yaml`. Call it before `app.init()`. */
export function serveDocs(app: NestExpressApplication): void {
  const { PUBLIC_BASE_URL: baseUrl, PRODUCTION_BASE_URL, STAGING_BASE_URL } = app.get(HttpSettings);
  const servers = [
    { url: baseUrl, description: 'This instance' },
    ...[
      { url: PRODUCTION_BASE_URL, description: 'Production' },
      { url: STAGING_BASE_URL, description: 'Staging' },
    ].filter(({ url }) => url !== HERE && url !== baseUrl),
  ];
  const origins = servers.flatMap(({ url }) => (URL.canParse(url) ? [new URL(url).origin] : []));
  const policy =
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
    `font-src 'self' data:; connect-src ${[...new Set(["'self'", ...origins])].join(' ')}; ` +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  app.use('/docs', (_request: Request, response: Response, next: NextFunction) => {
    response.set({ 'Content-Security-Policy': policy, 'Referrer-Policy': 'no-referrer' });
    next();
  });
  SwaggerModule.setup('docs', app, () => openApiDocument(app), {
    jsonDocumentUrl: 'openapi.json',
    yamlDocumentUrl: 'openapi.yaml',
    customSiteTitle: 'Pet store',
    customCssUrl: './docs/page.css',
    customJs: './docs/page.js',
    // The page, whose script has the document, calls this instance.
    patchDocumentOnRequest: (request: unknown, _response: unknown, document: OpenAPIObject) =>
      (request as Request).path.endsWith('.js') ? { ...document, servers } : document,
    swaggerOptions: {
      layout: 'BaseLayout',
      plugins: [pagePlugin],
      persistAuthorization: false,
      tryItOutEnabled: true,
      displayRequestDuration: true,
      displayOperationId: true,
      docExpansion: 'list',
      defaultModelsExpandDepth: 0,
    },
  });
  // The page at /docs/ looks for them in /docs/docs.
  for (const prefix of ['/docs', '/docs/docs']) app.useStaticAssets(ASSETS, { prefix, redirect: false });
}

/** Runs in the browser: SwaggerModule writes its text into the script of the page. */
function pagePlugin(): unknown {
  return (globalThis as { petstorePlugin?: () => unknown }).petstorePlugin?.();
}
