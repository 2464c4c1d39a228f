import { All, Controller, Get, Post, Req, Res, UseGuards } from '@nestjs/common';
import { PageQuery, PetService } from '../../../application/pets/pet.service.js';
import { jsonMembers } from '../body/json-object.js';
import { readJsonText } from '../body/read-body.js';
import { HttpSettings } from '../http-settings.js';
import { BearerAuthGuard } from '../keys/bearer-auth.guard.js';
import { sendJson } from '../send.js';
import { Request } from '../server/request.js';
import { Response } from '../server/response.js';
import { StorePatience } from '../store-patience.js';
import { answerOtherMethod, type RoutedRequest } from '../unmatched/method-not-allowed.js';
import { idempotencyKey } from './idempotency-key.js';
import { pageQuery, refuseParameters } from './parameters.js';
import { petJson, petsJson } from './pet-json.js';
import { CreatePetOperation, ListPetsOperation } from './pets.docs.js';
import { readNewPet } from './read-new-pet.js';
import { Answer, RevisionCache } from './revision-cache.js';

/** listPets and createPet. */
@Controller('v1/pets')
@UseGuards(BearerAuthGuard)
export class PetsController {
  private readonly answers = new RevisionCache();

  constructor(
    private readonly pets: PetService,
    private readonly patience: StorePatience,
    private readonly settings: HttpSettings,
  ) {}

  @Get()
  @ListPetsOperation()
  async listPets(@Req() request: Request, @Res() response: Response): Promise<void> {
    const [target, revision] = [request.url ?? '', this.pets.listRevision()];
    const kept = this.answers.get(target, revision);
    const { body, headers, encoding } = kept ?? (await this.read(request, target, revision));
    sendJson(response, 200, body, headers, encoding);
  }

  @Post()
  @CreatePetOperation()
  async createPet(@Req() request: Request, @Res() response: Response): Promise<void> {
    refuseParameters(request.targetQuery);
    const newPet = readNewPet(jsonMembers(await readJsonText(request, response)));
    const { pet, replayed } = await this.patience.ask(request, this.pets.create(newPet, idempotencyKey(request)));
    const location = ['Location', `${this.settings.baseUrl}/pets/${pet.id}`];
    sendJson(response, 201, petJson(pet), replayed ? [...location, 'Idempotent-Replayed', 'true'] : location);
  }

  @All()
  otherMethod(@Req() request: RoutedRequest, @Res() response: Response): void {
    answerOtherMethod(request, response);
  }

  private read(request: Request, target: string, revision: number | undefined): Promise<Answer> {
    const query = pageQuery(request.targetQuery);
    return this.patience.wait(
      request,
      this.answers.read(target, revision, () => this.page(query)),
    );
  }

  /** A page, and the link to the one that follows (RFC 8288): from a base that is configured or relative, never from the Host header. */
  private async page(query: PageQuery): Promise<Answer> {
    const { pets, next } = await this.pets.list(query);
    const body = petsJson(pets);
    if (next === undefined) return { body, headers: [] };
    const status = query.status === undefined ? '' : `&status=${query.status}`;
    const target = `${this.settings.baseUrl}/pets?limit=${query.limit}${status}&cursor=${next}`;
    return { body, headers: ['Link', `<${target}>; rel="next"`] };
  }
}
