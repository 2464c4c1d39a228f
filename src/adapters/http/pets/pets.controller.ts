import { All, Controller, Get, Post, Query, Req, Res, UseGuards } from '@nestjs/common';
import { type PageQuery, PetService } from '../../../application/pets/pet.service.js';
import { JsonObject } from '../body/body.decorator.js';
import { DatabaseDeadline } from '../database-deadline.js';
import { answerOtherMethod } from '../errors/unmatched.controller.js';
import { HttpSettings } from '../http-settings.js';
import { NoParametersGuard } from '../query/parameters.js';
import { type CachedResponse, ResponseCache } from '../response-cache.js';
import { sendJson } from '../send.js';
import { Request } from '../server/request.js';
import { Response } from '../server/response.js';
import { idempotencyKey } from './idempotency-key.js';
import { NewPetDto } from './new-pet.dto.js';
import { PageQueryPipe } from './page-query.pipe.js';
import { petJson, petsJson } from './pet-json.js';
import { CreatePetOperation, ListPetsOperation } from './pets.docs.js';

/**
 * listPets and createPet. Responses are sent by `sendJson` instead of returned: int64s must be exact, and Node 20 has
 * no `JSON.rawJSON`.
 */
@Controller('v1/pets')
export class PetsController {
  private readonly cache = new ResponseCache();

  constructor(
    private readonly pets: PetService,
    private readonly deadline: DatabaseDeadline,
    private readonly settings: HttpSettings,
  ) {}

  @Get()
  @ListPetsOperation()
  async listPets(
    @Query(PageQueryPipe) query: PageQuery,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const read = () => this.deadline.wait(request, this.page(query));
    const { body, headers } = await this.cache.get(request.url, this.pets.version(), read);
    sendJson(response, 200, body, headers);
  }

  @Post()
  @UseGuards(NoParametersGuard)
  @CreatePetOperation()
  async createPet(
    @JsonObject(NewPetDto) newPet: NewPetDto,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const { pet, replayed } = await this.deadline.wait(request, this.pets.create(newPet, idempotencyKey(request)));
    const location = ['Location', `${this.settings.PUBLIC_BASE_URL}/pets/${pet.id}`];
    sendJson(response, 201, petJson(pet), replayed ? [...location, 'Idempotent-Replayed', 'true'] : location);
  }

  @All()
  otherMethod(@Req() request: Request, @Res() response: Response): void {
    answerOtherMethod(request, response, 'GET, HEAD, POST, OPTIONS');
  }

  /** A page, and the link to the next one (RFC 8288), whose base is never the Host header. */
  private async page(query: PageQuery): Promise<CachedResponse> {
    const { pets, next } = await this.pets.list(query);
    const body = petsJson(pets);
    if (next === undefined) return { body, headers: [] };
    const status = query.status === undefined ? '' : `&status=${query.status}`;
    const target = `${this.settings.PUBLIC_BASE_URL}/pets?limit=${query.limit}${status}&cursor=${next}`;
    return { body, headers: ['Link', `<${target}>; rel="next"`] };
  }
}
