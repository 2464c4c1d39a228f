import {
  All,
  CanActivate,
  Controller,
  ExecutionContext,
  Get,
  Injectable,
  Logger,
  OnModuleDestroy,
  OnModuleInit,
  Param,
  Req,
  Res,
  UseGuards,
} from '@nestjs/common';
import { ApiKeyService } from '../../../application/keys/api-key.service.js';
import { PetNotFound } from '../../../application/errors.js';
import { PetService } from '../../../application/pets/pet.service.js';
import { AcceptsJsonGuard } from '../body/accepts-json.guard.js';
import { HttpSettings } from '../http-settings.js';
import { BearerAuthGuard } from '../keys/bearer-auth.guard.js';
import { sendJson } from '../send.js';
import { Request } from '../server/request.js';
import { Response } from '../server/response.js';
import { answerOtherMethod } from '../unmatched/method-not-allowed.js';
import { refuseParameters } from './parameters.js';
import { petJson } from './pet-json.js';

/** Since when getPet is deprecated: 20 November 2026, when 1.0.0 was published, in the form of RFC 9745. */
const DEPRECATION = '@1795132800';

/** When getPet is to be removed, in the form of RFC 8594. */
export const SUNSET = 'Thu, 05 Dec 2030 00:00:00 GMT';

const DAY = 86_400_000;

const logger = new Logger('getPet');

/** Lets every request through and has its answer, whatever it is, say that the resource is deprecated. */
@Injectable()
export class DeprecationSignals implements CanActivate {
  private readonly headers: readonly string[];

  constructor({ baseUrl }: HttpSettings) {
    const links = `<${baseUrl.slice(0, -'/v1'.length)}/docs>; rel="deprecation"; type="text/html", <${baseUrl}/pets>; rel="successor-version"`;
    this.headers = ['Deprecation', DEPRECATION, 'Sunset', SUNSET, 'Link', links];
  }

  canActivate(context: ExecutionContext): true {
    context
      .switchToHttp()
      .getResponse<Response>()
      .standing.push(...this.headers);
    return true;
  }
}

/** getPet, deprecated: to remove the operation, remove this file. */
@Controller('v1/pets/:petId')
@UseGuards(DeprecationSignals, BearerAuthGuard)
export class GetPetController implements OnModuleInit, OnModuleDestroy {
  private reminding: NodeJS.Timeout | undefined;

  constructor(
    private readonly pets: PetService,
    private readonly keys: ApiKeyService,
  ) {}

  onModuleInit(): void {
    remind();
    this.reminding = setInterval(remind, DAY).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.reminding);
  }

  @Get()
  @UseGuards(AcceptsJsonGuard)
  async getPet(@Param('petId') petId: string, @Req() request: Request, @Res() response: Response): Promise<void> {
    if (request.apiKey) this.keys.noteGetPet(request.apiKey);
    refuseParameters(request.targetQuery);
    // The documented answers are 200, 401 and 404: what is no int64 is the id of no pet. 19 digits are the most it can have.
    if (!/^(?:0|-?[1-9][0-9]{0,18})$/.test(petId)) throw new PetNotFound();
    sendJson(response, 200, petJson(await this.pets.get(BigInt(petId))));
  }

  @All()
  otherMethod(@Req() request: Request, @Res() response: Response): void {
    answerOtherMethod(request, response, 'GET, HEAD, OPTIONS');
  }
}

/** Reminds the log, once the date has passed, that the operation is still here: it is removed by a release, and not by the clock. */
function remind(): void {
  if (Date.now() < Date.parse(SUNSET)) return;
  logger.warn('getPet was to be removed on 5 December 2030; "petstore keys callers" lists who still calls it.');
}
