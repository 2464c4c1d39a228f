import { INestApplication, Injectable } from '@nestjs/common';
import { dump } from 'js-yaml';
import { openApiDocument } from './document.js';

/** The OpenAPI document as JSON and as YAML. */
export interface Texts {
  readonly json: string;
  readonly yaml: string;
}

/** The OpenAPI document as text, made when it is first asked for. */
@Injectable()
export class ApiDocument {
  private app: INestApplication | undefined;
  private made: Texts | undefined;

  /** Tells which application to describe. */
  describe(app: INestApplication): void {
    this.app = app;
  }

  /** The document in both of its forms. */
  texts(): Texts {
    return (this.made ??= this.make());
  }

  private make(): Texts {
    if (!this.app) throw new Error('The document was asked for before the application was there.');
    // By way of JSON, which has no undefined values.
    const json = JSON.stringify(openApiDocument(this.app), null, 2) + '\n';
    return { json, yaml: dump(JSON.parse(json), { lineWidth: -1 }) };
  }
}
