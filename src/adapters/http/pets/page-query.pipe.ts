import { Injectable, PipeTransform } from '@nestjs/common';
import type { PageQuery } from '../../../application/pets/pet.service.js';
import { isPetStatus, PET_STATUSES } from '../../../domain/pets/pet.js';
import { parameters } from '../query/parameters.js';

/** How many pets a page has if the client does not say, and how many it may have at most. */
export const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;

const RULES = {
  limit: (text: string) =>
    /^[1-9][0-9]{0,2}$/.test(text) && Number(text) <= MAX_LIMIT ? undefined : `an integer from 1 to ${MAX_LIMIT}`,
  status: (text: string) => (isPetStatus(text) ? undefined : `one of ${PET_STATUSES.join(', ')}`),
  // `PetService` checks it.
  cursor: () => undefined,
};

/** Parses the query of listPets; throws one `ApiError` for all faults, in the order of the query. */
@Injectable()
export class PageQueryPipe implements PipeTransform<URLSearchParams, PageQuery> {
  transform(query: URLSearchParams): PageQuery {
    const { limit = DEFAULT_LIMIT, status, cursor } = parameters(query, RULES);
    return { limit: Number(limit), status: status as PageQuery['status'], cursor };
  }
}
