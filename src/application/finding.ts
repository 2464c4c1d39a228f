/** What was found of one thing that the service rests on. */
export interface Finding {
  /** What was looked at. */
  readonly name: string;
  /** Whether it is as it should be; `warn` for what the service works with all the same. */
  readonly state: 'ok' | 'warn' | 'fail';
  /** What there is, without anything secret; a sentence unless all is well. */
  readonly found: string;
  /** What would be right, in a sentence; absent if all is well. */
  readonly advice?: string;
}

/** All is well with it. */
export function ok(name: string, found: string): Finding {
  return { name, state: 'ok', found };
}

/** The service works with it, and should not have to. */
export function warn(name: string, found: string, advice: string): Finding {
  return { name, state: 'warn', found, advice };
}

/** The service cannot work with it, or not keep what it promises. */
export function fail(name: string, found: string, advice: string): Finding {
  return { name, state: 'fail', found, advice };
}

/** A finding in words, for whoever runs the service: the same in the list of them and if a start is refused. */
export function words({ found, advice }: Finding): string {
  return advice === undefined ? found : `${found} ${advice}`;
}
