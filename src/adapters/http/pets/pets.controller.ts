import { All, Controller, Get, Post, Req, Res, UseGuards } from '@nestjs/common';
import { PetPage, PetService } from '../../../application/pets/pet.service.js';
import { jsonMembers } from '../body/json-object.js';
import { readJsonText } from '../body/read-body.js';
import { HttpSettings } from '../http-settings.js';
import { BearerAuthGuard } from '../keys/bearer-auth.guard.js';
import { sendJson } from '../send.js';
import { Request } from '../server/request.js';
import { Response } from '../server/response.js';
import { answerOtherMethod } from '../unmatched/method-not-allowed.js';
import { idempotencyKey } from './idempotency-key.js';
import { pageQuery, refuseParameters } from './parameters.js';
import { petJson, petsJson } from './pet-json.js';
import { CreatePetOperation, ListPetsOperation } from './pets.docs.js';
import { readNewPet } from './read-new-pet.js';

/** listPets and createPet. */
@Controller('v1/pets')
@UseGuards(BearerAuthGuard)
export class PetsController {
  /** The answer made of each page: the same page, the same bytes, for as long as the service keeps it. */
  private readonly answers = new WeakMap<PetPage, { body: Buffer; headers: string[] }>();

  constructor(
    private readonly pets: PetService,
    private readonly settings: HttpSettings,
  ) {}

  @Get()
  @ListPetsOperation()
  async listPets(@Req() request: Request, @Res() response: Response): Promise<void> {
    const query = pageQuery(request.targetQuery);
    const page = await this.pets.list(query);
    let answer = this.answers.get(page);
    if (!answer) {
      answer = { body: Buffer.from(petsJson(page.pets)), headers: this.links(page, query) };
      this.answers.set(page, answer);
    }
    sendJson(response, 200, answer.body, answer.headers);
  }

  @Post()
  @CreatePetOperation()
  async createPet(@Req() request: Request, @Res() response: Response): Promise<void> {
    refuseParameters(request.targetQuery);
    const newPet = readNewPet(jsonMembers(await readJsonText(request, response)));
    const { pet, replayed } = await this.pets.create(newPet, idempotencyKey(request));
    const location = ['Location', `${this.settings.baseUrl}/pets/${pet.id}`];
    sendJson(response, 201, petJson(pet), replayed ? [...location, 'Idempotent-Replayed', 'true'] : location);
  }

  @All()
  otherMethod(@Req() request: Request, @Res() response: Response): void {
    answerOtherMethod(request, response, 'GET, HEAD, POST, OPTIONS');
  }

  /** The way to the page that follows (RFC 8288), from a base that is configured or relative: never from the Host header. */
  private links({ next }: PetPage, { limit, status }: { limit: number; status?: string }): string[] {
    if (next === undefined) return [];
    const query = `limit=${limit}${status === undefined ? '' : `&status=${status}`}&cursor=${next}`;
    return ['Link', `<${this.settings.baseUrl}/pets?${query}>; rel="next"`];
  }
}
