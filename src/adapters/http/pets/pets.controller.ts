import { All, Controller, Get, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type PageQuery, PetService } from '../../../application/pets/pet.service.js';
import type { Settings } from '../../../settings.js';
import type { Pet } from '../../../domain/pets/pet.js';
import { JsonObject } from '../body/body.decorator.js';
import { namedTag } from '../docs/schemas.js';
import { answerOtherMethod } from '../errors/unmatched.controller.js';
import { type CachedResponse, ResponseCache, sendJson } from '../json-response.js';
import { Request } from '../server/request.js';
import { Response } from '../server/response.js';
import { SETTINGS_TOKEN } from '../settings.token.js';
import { idempotencyKey } from './idempotency-key.js';
import { NewPetDto } from './new-pet.dto.js';
import { PageQueryPipe } from './page-query.pipe.js';
import { PetIdPipe } from './pet-id.pipe.js';
import { CreatePetOperation, GetPetOperation, ListPetsOperation } from './pets.docs.js';

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
    @Inject(SETTINGS_TOKEN) private readonly settings: Settings,
  ) {}

  @Get()
  @ListPetsOperation
  async listPets(
    @Query(PageQueryPipe) query: PageQuery,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const read = () => request.databaseWait.for(this.page(query));
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
    const { pet, replayed } = await request.databaseWait.for(this.pets.create(newPet, idempotencyKey(request)));
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
    const read = async () => ({ body: petJson(await request.databaseWait.for(this.pets.get(id))), headers: [] });
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
