import {
  All,
  Controller,
  Get,
  Logger,
  OnModuleDestroy,
  OnModuleInit,
  Param,
  Req,
  Res,
  UseGuards,
} from '@nestjs/common';
import { ApiKeyService } from '../../../application/keys/api-key.service.js';
import { PetService } from '../../../application/pets/pet.service.js';
import { DatabaseDeadline } from '../database-deadline.js';
import { answerOtherMethod } from '../errors/unmatched.controller.js';
import { NoParametersGuard } from '../query/parameters.js';
import { ResponseCache } from '../response-cache.js';
import { sendJson } from '../send.js';
import { Request } from '../server/request.js';
import { Response } from '../server/response.js';
import { SUNSET } from './deprecation.js';
import { PetIdPipe } from './pet-id.pipe.js';
import { petJson } from './pet-json.js';
import { GetPetOperation } from './pets.docs.js';

const DAY = 86_400_000;

const logger = new Logger('getPet');

/**
 * getPet, deprecated. To remove the operation, remove this file, `deprecation.ts`, `pet-id.pipe.ts` and
 * `GetPetOperation`, what then does not compile, and the count of its calls: `noteGetPet`, `keys callers`, the metric.
 */
@Controller('v1/pets/:petId')
export class GetPetController implements OnModuleInit, OnModuleDestroy {
  private readonly cache = new ResponseCache();
  private reminding: NodeJS.Timeout | undefined;

  constructor(
    private readonly pets: PetService,
    private readonly keys: ApiKeyService,
    private readonly deadline: DatabaseDeadline,
  ) {}

  onModuleInit(): void {
    remind();
    this.reminding = setInterval(remind, DAY).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.reminding);
  }

  @Get()
  @UseGuards(NoParametersGuard)
  @GetPetOperation()
  async getPet(
    @Param('petId', PetIdPipe) id: bigint,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    if (request.apiKey) this.keys.noteGetPet(request.apiKey);
    const read = async () => ({ body: petJson(await this.deadline.wait(request, this.pets.get(id))), headers: [] });
    const { body } = await this.cache.get(request.url, this.pets.version(), read);
    sendJson(response, 200, body);
  }

  @All()
  otherMethod(@Req() request: Request, @Res() response: Response): void {
    answerOtherMethod(request, response, 'GET, HEAD, OPTIONS');
  }
}

/** Warns, once the date has passed, that the operation still exists: a release removes it, not the clock. */
function remind(): void {
  if (Date.now() < Date.parse(SUNSET)) return;
  logger.warn('getPet was to be removed on 5 December 2030; "petstore keys callers" lists who still calls it.');
}
