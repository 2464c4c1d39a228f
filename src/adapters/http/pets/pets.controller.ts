import { All, Controller, Get, Param, PipeTransform, Post, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { PetNotFound } from '../../../application/errors.js';
import { type PageQuery, PetService, type SentIdempotencyKey } from '../../../application/pets/pet.service.js';
import type { Pet } from '../../../domain/pets/pet.js';
import { JsonObject } from '../body/body.decorator.js';
import { namedTag } from '../docs/schemas.js';
import { ApiError } from '../errors/api-error.js';
import { answerOtherMethod } from '../errors/unmatched.controller.js';
import { HttpSettings } from '../http-settings.js';
import { type CachedResponse, ResponseCache, sendJson } from '../json-response.js';
import { Request } from '../server/request.js';
import { Response } from '../server/response.js';
import { NewPetDto } from './new-pet.dto.js';
import { PageQueryPipe } from './page-query.pipe.js';
import { CreatePetOperation, GetPetOperation, ListPetsOperation } from './pets.docs.js';

/** Parses a petId. A malformed one is 404, like that of a pet that does not exist. */
class PetIdPipe implements PipeTransform<string, bigint> {
  transform(text: string): bigint {
    // An int64 has at most 19 digits.
    if (!/^(?:0|-?[1-9][0-9]{0,18})$/.test(text)) throw new PetNotFound();
    return BigInt(text);
  }
}

/**
 * The operations on pets. Responses are sent by `sendJson` instead of returned: int64s must be exact, and Node 20 has
 * no `JSON.rawJSON`.
 */
@ApiTags(namedTag('pets', 'The animals of the catalogue.'))
@Controller('v1/pets')
export class PetsController {
  private readonly cache = new ResponseCache();

  constructor(
    private readonly pets: PetService,
    private readonly settings: HttpSettings,
  ) {}

  @Get()
  @ListPetsOperation
  async listPets(
    @Query(PageQueryPipe) query: PageQuery,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const read = () => request.waitFor(this.page(query));
    const { body, headers } = await this.cache.get(request.url, this.pets.version(), read);
    sendJson(response, 200, body, headers);
  }

  @Post()
  @CreatePetOperation
  async createPet(
    @JsonObject(NewPetDto) newPet: NewPetDto,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const { pet, replayed } = await request.waitFor(this.pets.create(newPet, idempotencyKey(request)));
    const location = ['Location', `${this.settings.PUBLIC_BASE_URL}/pets/${pet.id}`];
    sendJson(response, 201, petJson(pet), replayed ? [...location, 'Idempotent-Replayed', 'true'] : location);
  }

  @All()
  otherMethod(@Req() request: Request, @Res() response: Response): void {
    answerOtherMethod(request, response, 'GET, HEAD, POST, OPTIONS');
  }

  /** Deprecated. To remove it, remove also `deprecation.ts`, and the count of its calls: `getPetCalls`. */
  @Get(':petId')
  @GetPetOperation
  async getPet(
    @Param('petId', PetIdPipe) id: bigint,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const read = async () => ({ body: petJson(await request.waitFor(this.pets.get(id))), headers: [] });
    const { body } = await this.cache.get(request.url, this.pets.version(), read);
    sendJson(response, 200, body);
  }

  @All(':petId')
  otherMethodOfPet(@Req() request: Request, @Res() response: Response): void {
    answerOtherMethod(request, response, 'GET, HEAD, OPTIONS');
  }

  /** A page, and the link to the next one (RFC 8288), whose base is never the Host header. */
  private async page(query: PageQuery): Promise<CachedResponse> {
    const { pets, next } = await this.pets.list(query);
    const body = `[${pets.map(petJson).join(',')}]`;
    if (next === undefined) return { body, headers: [] };
    const status = query.status === undefined ? '' : `&status=${query.status}`;
    const target = `${this.settings.PUBLIC_BASE_URL}/pets?limit=${query.limit}${status}&cursor=${next}`;
    return { body, headers: ['Link', `<${target}>; rel="next"`] };
  }
}

/** A pet as JSON: its int64s as exact numbers, which `JSON.stringify` cannot write. */
function petJson({ id, name, categoryId, status }: Pet): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

/** Parses `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header), if it was sent. Its scope is the API key. */
function idempotencyKey({ headers, apiKey }: Request): SentIdempotencyKey | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined || !apiKey) return undefined;
  // Several are joined with a comma and a space.
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key)) throw ApiError.of('invalid_idempotency_key');
  return { scope: apiKey.digest, key };
}
