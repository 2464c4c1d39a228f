import { All, Controller, Get, Redirect, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Public } from '../auth/auth.guard.js';
import { answerOtherMethod } from '../errors/unmatched.controller.js';

/** Redirects / to the docs page, and rejects other methods than those that `serveDocs` serves. */
@Public()
@Controller()
export class DocsController {
  @Get()
  @Redirect('docs')
  home(): void {
    // The decorator redirects.
  }

  @All(['', 'docs', 'openapi.json', 'openapi.yaml'])
  otherMethod(@Req() request: Request, @Res() response: Response): void {
    answerOtherMethod(request, response, 'GET, HEAD, OPTIONS');
  }
}
