import { Controller, Get, Headers, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type PageQuery, PetService } from '../../../application/pets/pet.service.js';
import type { Pet } from '../../../domain/pets/pet.js';
import { BaseUrls } from '../base-urls.js';
import { JsonObject } from '../body/body.decorator.js';
import type { JsonResponse } from '../json-response.js';
import { type AuthenticatedContext, Context } from '../request-context.js';
import { ResponseCache } from '../response-cache.js';
import { NewPetDto } from './new-pet.dto.js';
import { PageQueryPipe, parseIdempotencyKey, PetIdPipe } from './parameters.js';
import { CreatePetOperation, GetPetOperation, ListPetsOperation } from './pets.docs.js';

@ApiTags('pets')
@Controller('v1/pets')
export class PetsController {
  private readonly cache = new ResponseCache();

  constructor(
    private readonly pets: PetService,
    private readonly urls: BaseUrls,
  ) {}

  @Get()
  @ListPetsOperation
  listPets(@Query(PageQueryPipe) query: PageQuery, @Context() context: AuthenticatedContext): Promise<JsonResponse> {
    return this.cache.get(context.target, this.pets.version(), () => this.page(query, context.deadline));
  }

  @Post()
  @CreatePetOperation
  async createPet(
    @JsonObject(NewPetDto) newPet: NewPetDto,
    @Headers('idempotency-key') idempotencyKey: string | undefined,
    @Context() { key, deadline }: AuthenticatedContext,
  ): Promise<JsonResponse> {
    const { pet, replayed } = await this.pets.create(newPet, parseIdempotencyKey(idempotencyKey, key), deadline);
    const location = ['Location', `${this.urls.PUBLIC_BASE_URL}/pets/${pet.id}`];
    return { body: petJson(pet), headers: replayed ? [...location, 'Idempotent-Replayed', 'true'] : location };
  }

  /** Deprecated. To remove it, remove also `deprecation.ts`. */
  @Get(':petId')
  @GetPetOperation
  getPet(@Param('petId', PetIdPipe) id: bigint, @Context() context: AuthenticatedContext): Promise<JsonResponse> {
    const read = async () => ({ body: petJson(await this.pets.get(id, context.deadline)) });
    return this.cache.get(context.target, this.pets.version(), read);
  }

  /** A page, and the link to the next one (RFC 8288), whose base is never the Host header. */
  private async page(query: PageQuery, deadline: number): Promise<JsonResponse> {
    const { pets, next } = await this.pets.list(query, deadline);
    const body = `[${pets.map(petJson).join(',')}]`;
    if (next === undefined) return { body };
    const parameters = Object.entries({ ...query, cursor: next }).filter(([, value]) => value !== undefined);
    const target = `${this.urls.PUBLIC_BASE_URL}/pets?${parameters.map((each) => each.join('=')).join('&')}`;
    return { body, headers: ['Link', `<${target}>; rel="next"`] };
  }
}

/** A pet as JSON: its int64s as exact numbers, which `JSON.stringify` cannot write. */
function petJson({ id, name, categoryId, status }: Pet): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}
