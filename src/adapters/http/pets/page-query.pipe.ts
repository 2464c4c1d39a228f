import { Injectable, PipeTransform } from '@nestjs/common';
import type { PageQuery } from '../../../application/pets/pet.service.js';
import { isPetStatus, PET_STATUSES } from '../../../domain/pets/pet.js';
import { type Fault, throwFaults } from '../errors/api-error.js';
import { quoted } from '../errors/wording.js';
import { parameters } from '../query/parameters.js';

/** How many pets a page has if the client does not say, and how many it may have at most. */
export const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;

/**
 * Parses the query of listPets; throws one `ApiError` for all faults, in the order of the query. `PetService` checks
 * the cursor.
 */
@Injectable()
export class PageQueryPipe implements PipeTransform<URLSearchParams, PageQuery> {
  transform(query: URLSearchParams): PageQuery {
    const faults: Fault[] = [];
    const given = parameters(query, ['limit', 'status', 'cursor'], faults);
    const limit = given.get('limit');
    if (limit && !(/^[1-9][0-9]{0,2}$/.test(limit.value) && Number(limit.value) <= MAX_LIMIT)) {
      const message = `limit must be an integer from 1 to ${MAX_LIMIT}, not ${quoted(limit.value)}.`;
      faults.push({ code: 'invalid_parameter', message, position: limit.position });
    }
    const status = given.get('status');
    if (status && !isPetStatus(status.value)) {
      const message = `status must be one of ${PET_STATUSES.join(', ')}, not ${quoted(status.value)}.`;
      faults.push({ code: 'invalid_parameter', message, position: status.position });
    }
    throwFaults(faults);
    return {
      limit: limit ? Number(limit.value) : DEFAULT_LIMIT,
      status: status?.value as PageQuery['status'],
      cursor: given.get('cursor')?.value,
    };
  }
}
