import { Logger } from '@nestjs/common';
import type { NextFunction } from 'express';
import type { Settings } from '../../../settings.js';
import type { Request } from '../request.js';

/** Since when getPet is deprecated: 20 November 2026, when 1.0.0 was published, in the form of RFC 9745. */
const DEPRECATION = '@1795132800';

/** When getPet is to be removed, in the form of RFC 8594. */
export const SUNSET = 'Thu, 05 Dec 2030 00:00:00 GMT';

const logger = new Logger('getPet');

/** Middleware that has every response on the path of getPet, errors included, say that it is deprecated. */
export function deprecateGetPet({ PUBLIC_BASE_URL: baseUrl }: Settings) {
  const docs = `${baseUrl.slice(0, -'/v1'.length)}/docs`;
  const links = `<${docs}>; rel="deprecation"; type="text/html", <${baseUrl}/pets>; rel="successor-version"`;
  return ({ path, context }: Request, _response: unknown, next: NextFunction) => {
    if (/^\/v1\/pets\/[^/]+$/.test(path))
      context.responseHeaders.push('Deprecation', DEPRECATION, 'Sunset', SUNSET, 'Link', links);
    next();
  };
}

/** Warns, once the date has passed, that the operation still exists: a release removes it, not the clock. */
export function remindOfSunset(): void {
  if (Date.now() < Date.parse(SUNSET)) return;
  logger.warn(
    'getPet was to be removed on 5 December 2030; "petstore keys callers" lists who has called it, and when.',
  );
}
