import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { All, Controller, Get, Param, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import absolutePath from 'swagger-ui-dist/absolute-path.js';
import { ApiError } from '../errors/api-error.js';
import { HttpSettings } from '../http-settings.js';
import { answerOtherMethod, type RoutedRequest } from '../unmatched/method-not-allowed.js';
import { ApiDocument } from './api-document.js';
import { PAGE, pagePolicy } from './page.js';
import { PageFile } from './page-file.js';
import { START } from './page-script.js';
import { STYLE } from './page-style.js';

const HOUR = 'public, max-age=3600';

/** The documentation: Swagger UI, and the OpenAPI document in both of its forms. No key is needed to read it. */
@Controller()
export class DocsController {
  private readonly page: PageFile;

  /** What the page needs, its own and of the swagger-ui-dist package. */
  private readonly assets: Readonly<Record<string, PageFile>> = {
    'start.js': new PageFile('text/javascript; charset=utf-8', START, 'no-cache'),
    'page.css': new PageFile('text/css; charset=utf-8', STYLE, 'no-cache'),
    'swagger-ui.css': swaggerUi('swagger-ui.css', 'text/css; charset=utf-8'),
    'swagger-ui-bundle.js': swaggerUi('swagger-ui-bundle.js', 'text/javascript; charset=utf-8'),
    'favicon-32x32.png': swaggerUi('favicon-32x32.png', 'image/png'),
    'favicon-16x16.png': swaggerUi('favicon-16x16.png', 'image/png'),
  };

  private readonly documents: { json?: PageFile; yaml?: PageFile } = {};

  constructor(
    private readonly document: ApiDocument,
    { productionBaseUrl, stagingBaseUrl }: HttpSettings,
  ) {
    this.page = new PageFile('text/html; charset=utf-8', PAGE, 'no-cache', {
      'Content-Security-Policy': pagePolicy([productionBaseUrl, stagingBaseUrl]),
      'Referrer-Policy': 'no-referrer',
    });
  }

  @Get()
  home(@Res() response: Response): void {
    response.writeHead(302, { Location: 'docs', 'Content-Length': 0 }).end();
  }

  @Get('docs')
  docs(@Req() request: Request, @Res() response: Response): void {
    this.page.send(request, response);
  }

  @Get('docs/:asset')
  asset(@Param('asset') asset: string, @Req() request: Request, @Res() response: Response): void {
    const file = Object.hasOwn(this.assets, asset) ? this.assets[asset] : undefined;
    if (!file) throw ApiError.of('route_not_found');
    file.send(request, response);
  }

  @Get('openapi.json')
  json(@Req() request: Request, @Res() response: Response): void {
    this.documents.json ??= new PageFile('application/json', this.document.texts().json, 'no-cache');
    this.documents.json.send(request, response);
  }

  @Get('openapi.yaml')
  yaml(@Req() request: Request, @Res() response: Response): void {
    this.documents.yaml ??= new PageFile('application/yaml', this.document.texts().yaml, 'no-cache');
    this.documents.yaml.send(request, response);
  }

  @All(['', 'docs', 'docs/:asset', 'openapi.json', 'openapi.yaml'])
  otherMethod(@Req() request: RoutedRequest, @Res() response: Response): void {
    answerOtherMethod(request, response);
  }
}

function swaggerUi(name: string, type: string): PageFile {
  return new PageFile(type, readFileSync(join(absolutePath(), name)), HOUR);
}
