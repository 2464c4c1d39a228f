/** The settings of the HTTP side. Times are in milliseconds. */
export abstract class HttpSettings {
  /** Base URL of links in responses, ending in `/v1`. */
  abstract readonly PUBLIC_BASE_URL: string;
  abstract readonly PRODUCTION_BASE_URL: string;
  abstract readonly STAGING_BASE_URL: string;
  /** Requests of a key in a minute; undefined for no limit. */
  abstract readonly RATE_LIMIT: number | undefined;
  /** Failures to authenticate of an address in a minute; undefined for no limit. */
  abstract readonly AUTH_FAILURE_LIMIT: number | undefined;
  /** The Redis through which instances share their counts. */
  abstract readonly RATE_LIMIT_URL: string | undefined;
  abstract readonly REQUEST_TIMEOUT: number;
  abstract readonly KEEP_ALIVE_TIMEOUT: number;
  abstract readonly STATEMENT_TIMEOUT: number;
  abstract readonly MAX_CONNECTIONS: number;
  abstract readonly STOP_DELAY: number;
  abstract readonly STOP_TIMEOUT: number;
}
