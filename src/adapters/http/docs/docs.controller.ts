import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { Controller, Get, Header, Redirect, Req, Res } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Public } from '../auth/auth.guard.js';
import { BaseUrls } from '../base-urls.js';
import { OpenApi, openApiYaml } from './document.js';

/** The page and its own files; `scripts/bundle.mjs` copies them beside the bundle. */
const ASSETS = join(import.meta.dirname, 'assets');

const SWAGGER_UI = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

/** The folder of each file that the page loads. */
const FOLDERS: Readonly<Record<string, string>> = {
  'page.css': ASSETS,
  'page.js': ASSETS,
  'swagger-ui.css': SWAGGER_UI,
  'swagger-ui-bundle.js': SWAGGER_UI,
  'favicon-32x32.png': SWAGGER_UI,
};

/** No part of a file is offered: the page needs all of it, and an invalid range is ignored. */
const OPTIONS = { acceptRanges: false };

/** What the page may load: files of this service. What it may call is added. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; connect-src 'self'";

/**
 * Swagger UI at `/docs`, and the document that it shows. Not by `SwaggerModule.setup`: Express would compare every
 * request of `/v1` with its dozen routes first, which takes 3 to 8 % of a read.
 */
@Public()
@Controller()
export class DocsController {
  private document: OpenAPIObject | undefined;
  private documentAsYaml: string | undefined;
  private readonly policy: string;

  constructor(
    private readonly openApi: OpenApi,
    { PRODUCTION_BASE_URL, STAGING_BASE_URL }: BaseUrls,
  ) {
    const others = [PRODUCTION_BASE_URL, STAGING_BASE_URL].filter((url) => url !== '/v1');
    this.policy = [POLICY, ...others.map((url) => new URL(url).origin)].join(' ');
  }

  @Get()
  @Redirect('docs')
  home(): void {
    // The decorator redirects; a proxy may serve all of this behind a path of its own.
  }

  @Get('docs')
  @Header('Referrer-Policy', 'no-referrer')
  page(@Res() response: Response): void {
    response.set('Content-Security-Policy', this.policy).sendFile('page.html', { root: ASSETS, ...OPTIONS });
  }

  @Get('docs{/}')
  @Redirect('../docs')
  pageWithSlash(): void {
    // As above. Nest drops a slash at the end of a path, and the route before this one matches the path without it.
  }

  @Get(Object.keys(FOLDERS).map((name) => `docs/${name}`))
  file(@Req() { path }: Request, @Res() response: Response): void {
    const name = basename(path);
    response.sendFile(name, { root: FOLDERS[name]!, ...OPTIONS });
  }

  @Get('openapi.json')
  json(@Res() response: Response): void {
    response.json(this.cachedDocument());
  }

  @Get('openapi.yaml')
  yaml(@Res() response: Response): void {
    response.type('text/yaml').send((this.documentAsYaml ??= openApiYaml(this.cachedDocument())));
  }

  private cachedDocument(): OpenAPIObject {
    return (this.document ??= this.openApi.document());
  }
}
