/** The settings of the HTTP side. Times are in milliseconds. */
export abstract class HttpSettings {
  /** Base URL of links in responses, ending in `/v1`. */
  abstract readonly PUBLIC_BASE_URL: string;
  abstract readonly PRODUCTION_BASE_URL: string;
  abstract readonly STAGING_BASE_URL: string;
  /** Empty: no CORS. */
  abstract readonly CORS_ORIGINS: readonly string[];
  abstract readonly REQUEST_TIMEOUT: number;
  abstract readonly KEEP_ALIVE_TIMEOUT: number;
  abstract readonly STATEMENT_TIMEOUT: number;
  abstract readonly MAX_CONNECTIONS: number;
  abstract readonly STOP_DELAY: number;
  abstract readonly STOP_TIMEOUT: number;
}
