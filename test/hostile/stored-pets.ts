import { Connection } from '../support/connection.js';

/** The JSON texts of all pets that the service on this port lists, newest first. */
export async function storedPets(port: number, key: string): Promise<string[]> {
  const found: string[] = [];
  for (let path: string | undefined = '/v1/pets?limit=100'; path !== undefined;) {
    const answer = await Connection.ask(
      port,
      `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    );
    found.push(...(answer.body.match(/\{[^}]*\}/g) ?? []));
    path = /<([^>]*)>; rel="next"/.exec(answer.header('Link') ?? '')?.[1];
  }
  return found;
}
