/** The settings with the addresses of the interface. A class, by which Nest injects them. */
export abstract class BaseUrls {
  abstract readonly PUBLIC_BASE_URL: string;
  abstract readonly PRODUCTION_BASE_URL: string;
  abstract readonly STAGING_BASE_URL: string;
}
