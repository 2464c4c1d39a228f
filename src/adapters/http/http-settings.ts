/** What the HTTP side of the service can be told. Times are in milliseconds. */
export abstract class HttpSettings {
  /** The base address of this instance, ending in `/v1`, that links in answers begin with; `/v1` alone if it is not known. */
  abstract readonly baseUrl: string;
  /** The base address of the production environment, ending in `/v1`. */
  abstract readonly productionBaseUrl: string;
  /** The base address of the staging environment, ending in `/v1`. */
  abstract readonly stagingBaseUrl: string;
  /** The origins whose pages may call the service from a browser; none: no CORS. */
  abstract readonly corsOrigins: readonly string[];
  /** Within what time the header section of a request must have arrived. */
  abstract readonly headersTimeout: number;
  /** Within what time a whole request must have arrived. */
  abstract readonly requestTimeout: number;
  /** How long a connection may stay open between two requests. */
  abstract readonly keepAliveTimeout: number;
  /** How long a connection may stand still while an answer is under way. */
  abstract readonly idleTimeout: number;
  /** How long a request may wait for the store in all. */
  abstract readonly storeTimeout: number;
  /** How many connections are taken at a time. */
  abstract readonly maxConnections: number;
  /** For how long a silent connection is kept once the service is told to stop. */
  abstract readonly stopLinger: number;
  /** Within what time all connections must have ended once the service is told to stop. */
  abstract readonly closeTimeout: number;
  /** How many requests a key may make in a minute; undefined for any number. */
  abstract readonly rateLimit: number | undefined;
  /** How often an address may fail to authenticate in a minute; undefined for any number. */
  abstract readonly authFailureLimit: number | undefined;
}
