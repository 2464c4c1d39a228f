import { All, Controller, Get, Logger, OnModuleDestroy, OnModuleInit, Req, Res, UseGuards } from '@nestjs/common';
import { ApiKeyService } from '../../../application/keys/api-key.service.js';
import { PetService } from '../../../application/pets/pet.service.js';
import { BearerAuthGuard } from '../keys/bearer-auth.guard.js';
import { sendJson } from '../send.js';
import { Request } from '../server/request.js';
import { Response } from '../server/response.js';
import { StorePatience } from '../store-patience.js';
import { answerOtherMethod, type RoutedRequest } from '../unmatched/method-not-allowed.js';
import { DeprecationSignals, SUNSET } from './deprecation.js';
import { petIdOf, refuseParameters } from './parameters.js';
import { petJson } from './pet-json.js';
import { GetPetOperation } from './pets.docs.js';
import { Answer, RevisionCache } from './revision-cache.js';

const DAY = 86_400_000;

const logger = new Logger('getPet');

/** getPet, deprecated: to remove the operation, remove this file and `deprecation.ts`. */
@Controller('v1/pets/:petId')
@UseGuards(DeprecationSignals, BearerAuthGuard)
export class GetPetController implements OnModuleInit, OnModuleDestroy {
  private readonly answers = new RevisionCache();
  private reminding: NodeJS.Timeout | undefined;

  constructor(
    private readonly pets: PetService,
    private readonly keys: ApiKeyService,
    private readonly patience: StorePatience,
  ) {}

  onModuleInit(): void {
    remind();
    this.reminding = setInterval(remind, DAY).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.reminding);
  }

  @Get()
  @GetPetOperation()
  async getPet(@Req() request: Request, @Res() response: Response): Promise<void> {
    if (request.apiKey) this.keys.noteGetPet(request.apiKey);
    const [target, revision] = [request.url ?? '', this.pets.petRevision()];
    const kept = this.answers.get(target, revision);
    const { body, headers, encoding } = kept ?? this.answers.keepRepeated(target, revision, await this.pet(request));
    sendJson(response, 200, body, headers, encoding);
  }

  @All()
  otherMethod(@Req() request: RoutedRequest, @Res() response: Response): void {
    answerOtherMethod(request, response);
  }

  private async pet(request: Request): Promise<Answer> {
    refuseParameters(request.targetQuery);
    const pet = await this.patience.ask(request, this.pets.get(petIdOf(request.params?.petId ?? '')));
    return { body: petJson(pet), headers: [] };
  }
}

/** Reminds the log, once the date has passed, that the operation is still here: it is removed by a release, and not by the clock. */
function remind(): void {
  if (Date.now() < Date.parse(SUNSET)) return;
  logger.warn('getPet was to be removed on 5 December 2030; "petstore keys callers" lists who still calls it.');
}
