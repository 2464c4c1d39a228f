import type { NextFunction } from 'express';
import { GET_PET_SUNSET } from '../../../application/pets/pet.service.js';
import type { Settings } from '../../../settings/settings.js';
import type { PetStoreRequest } from '../server/request.js';

/** Since when getPet is deprecated: 20 November 2026, when 1.0.0 was published, in the form of RFC 9745. */
const DEPRECATION = '@1795132800';

/** In the form of RFC 8594. */
const SUNSET = GET_PET_SUNSET.toUTCString();

/** Middleware that has every response on the path of getPet, errors included, say that it is deprecated. */
export function deprecateGetPet({ PUBLIC_BASE_URL: baseUrl }: Settings) {
  const docs = `${baseUrl.slice(0, -'/v1'.length)}/docs`;
  const links = `<${docs}>; rel="deprecation"; type="text/html", <${baseUrl}/pets>; rel="successor-version"`;
  return ({ path, context }: PetStoreRequest, _response: unknown, next: NextFunction) => {
    if (/^\/v1\/pets\/[^/]+$/.test(path))
      context.responseHeaders.push('Deprecation', DEPRECATION, 'Sunset', SUNSET, 'Link', links);
    next();
  };
}
