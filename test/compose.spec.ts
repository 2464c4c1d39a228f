import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';
import { readConfig } from '../src/config.js';

interface Compose {
  readonly services: Record<string, { environment: Record<string, string>; secrets?: string[] }>;
  readonly secrets: Record<string, unknown>;
}

describe('compose.yaml', () => {
  const text = readFileSync('compose.yaml', 'utf8').replaceAll('${POSTGRES_PASSWORD:?}', 'c0ffee');
  const { services, secrets } = load(text) as Compose;
  const petstore = services.petstore as Compose['services'][string];
  const database = services.database as Compose['services'][string];

  it('tells the service where its database is, by the names and the password that the database has', () => {
    expect(text).not.toContain('${');
    const { POSTGRES_USER: user, POSTGRES_PASSWORD: password, POSTGRES_DB: name } = database.environment;
    const { DATABASE_URL } = petstore.environment;
    expect(readConfig({ DATABASE_URL }).database).toMatchObject({
      engine: 'postgres',
      hosts: [{ host: 'database', port: 5432 }],
      user,
      password,
      database: name,
    });
  });

  it('hands the keys over in a file, and no setting that there is none of', () => {
    expect(Object.keys(petstore.environment)).toEqual(['DATABASE_URL', 'API_KEYS_FILE']);
    expect(petstore.environment.API_KEYS_FILE).toBe(`/run/secrets/${petstore.secrets?.[0]}`);
    expect(Object.keys(secrets)).toEqual(petstore.secrets);
  });
});
