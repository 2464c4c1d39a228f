import { Controller, Get, Redirect } from '@nestjs/common';
import { Public } from '../auth/auth.guard.js';

/** Redirects / to the docs page. */
@Public()
@Controller()
export class DocsController {
  @Get()
  @Redirect('docs')
  home(): void {
    // The decorator redirects.
  }

  /** Named here for their other methods alone: `serveDocs` serves them. */
  @Get(['docs', 'openapi.json', 'openapi.yaml'])
  served(): void {
    // Express does not get here.
  }
}
