/** A setting as people meet it: an environment variable, a line of `.env`, an option of `petstore serve`. */
export interface Setting {
  /** The name of the variable. */
  readonly name: string;
  /** What it is, in a sentence without its full stop, with the unit if it has one. */
  readonly words: string;
  /** What holds if it is not set, as it would be written; absent if there is nothing to write. */
  readonly unset?: string;
  /** A value that it may have, for those that are not set. */
  readonly example?: string;
  /** Whether it has no option, because others see the command lines of all processes. */
  readonly isSecret?: true;
}

/** The option of a setting: `--stop-delay` of `STOP_DELAY`. */
export function optionName({ name }: Setting): string {
  return `--${name.toLowerCase().replaceAll('_', '-')}`;
}

/** A file for `.env` that changes nothing: all settings, as comments, with what holds if they are not set. */
export function exampleEnv(settings: readonly Setting[]): string {
  const lines = settings.map(
    ({ name, words, unset, example }) =>
      `# ${words}${example === undefined ? '.' : `, such as ${example}.`}\n# ${name}=${unset ?? ''}`,
  );
  return ['# Copy this to .env, and take the # away from what you set. These are the defaults.', ...lines].join('\n\n');
}
