import { CanActivate, ExecutionContext, Injectable } from '@nestjs/common';
import { type Fault, throwFaults } from '../errors/api-error.js';
import { didYouMean, quoted } from '../errors/wording.js';
import type { Request } from '../server/request.js';

/** A query parameter: its value, and its position in the query. */
export interface Parameter {
  readonly value: string;
  readonly position: number;
}

/** The query parameters by name. Adds a fault for each that is repeated, and for each that is not in `known`. */
export function parameters(query: URLSearchParams, known: readonly string[], faults: Fault[]): Map<string, Parameter> {
  const given = new Map<string, Parameter>();
  const supported = known.length === 0 ? 'none' : known.join(', ');
  for (const [position, [name, value]] of [...query].entries()) {
    if (!known.includes(name)) {
      const message = `${quoted(name)} is not a query parameter of this operation. It has ${supported}.`;
      faults.push({ code: 'unknown_parameter', message: message + didYouMean(name, known), position });
    } else if (given.has(name)) {
      faults.push({ code: 'repeated_parameter', message: `${name} must be given once.`, position });
    } else given.set(name, { value, position });
  }
  return given;
}

/**
 * Rejects every query parameter. `@UseGuards` must stand above the operation's decorator: `Accept` is checked first.
 */
@Injectable()
export class NoParametersGuard implements CanActivate {
  canActivate(context: ExecutionContext): true {
    const { targetQuery } = context.getArgByIndex<Request>(0);
    if (targetQuery !== '') {
      const faults: Fault[] = [];
      parameters(new URLSearchParams(`?${targetQuery}`), [], faults);
      throwFaults(faults);
    }
    return true;
  }
}
