/** Where the animals are kept, as `DATABASE_URL` says it. */
export type DatabaseUrl = { readonly engine: 'memory' } | { readonly engine: 'sqlite'; readonly file: string };

/** What `DATABASE_URL` takes, for the message to someone who gave something else. */
export const DATABASE_URL_FORMS = 'sqlite:FILE or memory:';

/** Reads a `DATABASE_URL`; undefined where it is none. */
export function databaseUrl(text: string): DatabaseUrl | undefined {
  if (text === 'memory:') return { engine: 'memory' };
  const file = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(text)?.[1];
  return file === undefined ? undefined : { engine: 'sqlite', file };
}
