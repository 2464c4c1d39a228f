import { IncomingMessage, ServerResponse } from 'node:http';
import { All, Controller, Get, Param, Req, Res } from '@nestjs/common';
import type { Response as ExpressResponse } from 'express';
import absolutePath from 'swagger-ui-dist/absolute-path.js';
import { routeNotFound } from '../errors/api-error.filter.js';
import type { HeaderList } from '../header-list.js';
import { answerOtherMethod } from '../unmatched/method-not-allowed.js';
import { ApiDocument } from './api-document.js';
import { PAGE, PAGE_POLICY, START, STYLE } from './page.js';

/** What the page needs of the swagger-ui-dist package. */
const ASSETS = new Set(['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png', 'favicon-16x16.png']);

/** The documentation: Swagger UI, and the OpenAPI document in both of its forms. No key is needed to read it. */
@Controller()
export class DocsController {
  constructor(private readonly document: ApiDocument) {}

  @Get()
  home(@Res() response: ServerResponse): void {
    response.writeHead(302, ['Location', 'docs', 'Content-Length', '0']);
    response.end();
  }

  @Get('docs')
  page(@Res() response: ServerResponse): void {
    send(response, 'text/html; charset=utf-8', PAGE, ['Content-Security-Policy', PAGE_POLICY]);
  }

  @Get('docs/start.js')
  start(@Res() response: ServerResponse): void {
    send(response, 'text/javascript; charset=utf-8', START);
  }

  @Get('docs/page.css')
  style(@Res() response: ServerResponse): void {
    send(response, 'text/css; charset=utf-8', STYLE);
  }

  @Get('docs/:asset')
  asset(@Param('asset') asset: string, @Res() response: ExpressResponse): void {
    if (!ASSETS.has(asset)) throw routeNotFound();
    response.sendFile(asset, { root: absolutePath(), maxAge: '1h' });
  }

  @Get('openapi.json')
  json(@Res() response: ServerResponse): void {
    send(response, 'application/json', this.document.texts().json);
  }

  @Get('openapi.yaml')
  yaml(@Res() response: ServerResponse): void {
    send(response, 'application/yaml', this.document.texts().yaml);
  }

  @All(['', 'docs', 'docs/:asset', 'openapi.json', 'openapi.yaml'])
  otherMethod(@Req() request: IncomingMessage, @Res() response: ServerResponse): void {
    answerOtherMethod(request, response, 'GET, HEAD, OPTIONS');
  }
}

function send(response: ServerResponse, type: string, text: string, headers: HeaderList = []): void {
  response.writeHead(200, [
    'Content-Type',
    type,
    'Content-Length',
    String(Buffer.byteLength(text)),
    'Cache-Control',
    'no-cache',
    ...headers,
  ]);
  response.end(text);
}
