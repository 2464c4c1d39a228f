import { Logger } from '@nestjs/common';
import type { NextFunction } from 'express';
import type { Settings } from '../../../settings/settings.js';
import type { PetStoreRequest } from '../server/request.js';

/** Since when getPet is deprecated: 20 November 2026, when 1.0.0 was published, in the form of RFC 9745. */
const DEPRECATION = '@1795132800';

/** When it is to be removed. */
const SUNSET = new Date('2030-12-05T00:00:00Z');

const logger = new Logger('getPet');

/** Middleware that has every response on the path of getPet, errors included, say that it is deprecated. */
export function deprecateGetPet({ PUBLIC_BASE_URL: baseUrl }: Settings) {
  const docs = `${baseUrl.slice(0, -'/v1'.length)}/docs`;
  const links = `<${docs}>; rel="deprecation"; type="text/html", <${baseUrl}/pets>; rel="successor-version"`;
  return ({ path, context }: PetStoreRequest, _response: unknown, next: NextFunction) => {
    if (/^\/v1\/pets\/[^/]+$/.test(path))
      context.responseHeaders.push('Deprecation', DEPRECATION, 'Sunset', SUNSET.toUTCString(), 'Link', links);
    next();
  };
}

/** Warns, once the date has passed, that the operation still exists: a release removes it, not the clock. */
export function remindOfSunset(): void {
  if (Date.now() < SUNSET.getTime()) return;
  logger.warn(
    'getPet was to be removed on 5 December 2030; "petstore keys callers" lists who has called it, and when.',
  );
}
