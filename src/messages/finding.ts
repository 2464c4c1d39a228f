/** The result of one check of the settings or the database. */
export interface Finding {
  /** What was checked. */
  readonly name: string;
  /** `warn`: the service works, but should be configured otherwise. `fail`: it does not work, or could lose data. */
  readonly state: 'ok' | 'warn' | 'fail';
  /** What was found, without secrets; a sentence unless the state is `ok`. */
  readonly found: string;
  /** What to do, as a sentence; absent if `found` says it, or the state is `ok`. */
  readonly advice?: string | undefined;
}

export const ok = (name: string, found: string): Finding => ({ name, state: 'ok', found });
export const warn = (name: string, found: string, advice: string): Finding => ({ name, state: 'warn', found, advice });
export const fail = (name: string, found: string, advice?: string): Finding => ({ name, state: 'fail', found, advice });
