import { join } from 'node:path';
import { Controller, Get, Redirect } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { NextFunction, Request, Response } from 'express';
import type { Settings } from '../../../settings.js';
import { Public } from '../auth/auth.guard.js';
import { openApiDocument } from './document.js';

/** Where page.css and page.js are; `bundle.mjs` copies them beside the bundle. */
const ASSETS = join(import.meta.dirname, 'assets');

/** What the page may load and call: this service, and nothing else. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Serves Swagger UI at `/docs`, and `/openapi.json` and `/openapi.yaml`. Call it before `app.init()`. */
export function serveDocs(app: NestExpressApplication, settings: Settings): void {
  const servers = [{ url: settings.PUBLIC_BASE_URL, description: 'This instance' }];
  app.use('/docs', (_request: Request, response: Response, next: NextFunction) => {
    response.set({ 'Content-Security-Policy': POLICY, 'Referrer-Policy': 'no-referrer' });
    next();
  });
  SwaggerModule.setup('docs', app, () => openApiDocument(app, settings), {
    jsonDocumentUrl: 'openapi.json',
    yamlDocumentUrl: 'openapi.yaml',
    customSiteTitle: 'Pet store',
    customCssUrl: './docs/page.css',
    customJs: './docs/page.js',
    // The script of the page contains the document.
    patchDocumentOnRequest: (request: unknown, _response: unknown, document: OpenAPIObject) =>
      (request as Request).path.endsWith('.js') ? { ...document, servers } : document,
    swaggerOptions: {
      layout: 'BaseLayout',
      plugins: [{ wrapComponents: { responseBody: exactBody, DeepLink: plainText } }],
      persistAuthorization: true,
      deepLinking: true,
      syntaxHighlight: { theme: 'tomorrow-night' },
      tryItOutEnabled: true,
      displayOperationId: true,
      defaultModelsExpandDepth: 0,
    },
  });
  // The page at /docs/ looks for them in /docs/docs.
  for (const prefix of ['/docs', '/docs/docs']) app.useStaticAssets(ASSETS, { prefix, redirect: false });
}

/** Redirects / to the docs page. */
@Public()
@Controller()
export class DocsController {
  @Get()
  @Redirect('docs')
  home(): void {
    // The decorator redirects.
  }

  /** Here, so that other methods of these paths are 405: `serveDocs` serves GET. */
  @Get(['docs', 'openapi.json', 'openapi.yaml'])
  served(): void {
    // Express does not get here.
  }
}

// The functions below run in the browser: SwaggerModule writes their text into the script of the page.

interface System {
  React: { createElement(...args: unknown[]): unknown };
}

/** Swagger UI formats JSON with JavaScript's numbers: a body with an int64 that they may round is shown as it is. */
function exactBody(Original: unknown, { React }: System) {
  return (props: { content: string }) =>
    React.createElement(Original, /\d{16}/.test(props.content) ? { ...props, contentType: 'text/plain' } : props);
}

/** With `deepLinking` Swagger UI puts a link into a button, where a screen reader cannot reach it: not so here. */
function plainText(Original: unknown, { React }: System) {
  return (props: object) => React.createElement(Original, { ...props, enabled: false });
}
