import { CanActivate, ExecutionContext, Injectable } from '@nestjs/common';
import type { HeaderList } from '../header-list.js';
import { HttpSettings } from '../http-settings.js';
import { Response } from '../server/response.js';

/** Since when getPet is deprecated: 20 November 2026, when 1.0.0 was published, in the form of RFC 9745. */
const DEPRECATION = '@1795132800';

/** When getPet is to be removed, in the form of RFC 8594. */
export const SUNSET = 'Thu, 05 Dec 2030 00:00:00 GMT';

/** Lets every request through and has its answer, whatever it is, say that the resource is deprecated. */
@Injectable()
export class DeprecationSignals implements CanActivate {
  private readonly headers: HeaderList;

  constructor({ baseUrl }: HttpSettings) {
    const links = `<${baseUrl.slice(0, -'/v1'.length)}/docs>; rel="deprecation"; type="text/html", <${baseUrl}/pets>; rel="successor-version"`;
    this.headers = ['Deprecation', DEPRECATION, 'Sunset', SUNSET, 'Link', links];
  }

  canActivate(context: ExecutionContext): true {
    context.getArgByIndex<Response>(1).standing.push(...this.headers);
    return true;
  }
}
