import { CanActivate, ExecutionContext, Injectable } from '@nestjs/common';
import { quoted } from '../../../application/errors.js';
import { type Fault, throwFaults } from '../errors/api-error.js';
import { didYouMean } from '../errors/did-you-mean.js';
import type { Request } from '../server/request.js';

/** For each query parameter of an operation: what a value must be if it is not valid, such as `a number`. */
export type ParameterRules = Readonly<Record<string, (value: string) => string | undefined>>;

/** The query parameters by name. Throws an `ApiError` that names every one that is unknown, repeated or invalid. */
export function parameters<Rules extends ParameterRules>(
  query: URLSearchParams,
  rules: Rules,
): Partial<Record<keyof Rules, string>> {
  const names = Object.keys(rules);
  const faults: Fault[] = [];
  const given = new Map<string, string>();
  for (const [name, value] of query) {
    const rule = names.includes(name) ? rules[name]?.(value) : undefined;
    if (!names.includes(name)) {
      const has = `It has ${names.join(', ') || 'none'}.`;
      const message = `${quoted(name)} is not a query parameter of this operation. ${has}${didYouMean(name, names)}`;
      faults.push({ code: 'unknown_parameter', message });
    } else if (given.has(name)) {
      faults.push({ code: 'repeated_parameter', message: `${name} must be given once.` });
    } else if (rule !== undefined) {
      faults.push({ code: 'invalid_parameter', message: `${name} must be ${rule}, not ${quoted(value)}.` });
    }
    given.set(name, value);
  }
  throwFaults(faults);
  return Object.fromEntries(given) as Partial<Record<keyof Rules, string>>;
}

/**
 * Rejects every query parameter. `@UseGuards` must stand above the operation's decorator: `Accept` is checked first.
 */
@Injectable()
export class NoParametersGuard implements CanActivate {
  canActivate(context: ExecutionContext): true {
    const { url } = context.getArgByIndex<Request>(0);
    if (url.includes('?')) parameters(new URLSearchParams(url.slice(url.indexOf('?'))), {});
    return true;
  }
}
