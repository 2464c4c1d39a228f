import { INestApplication, Injectable } from '@nestjs/common';

/** The OpenAPI document as text, made when it is first asked for. */
@Injectable()
export class ApiDocument {
  private app: INestApplication | undefined;
  private made: Promise<{ json: string; yaml: string }> | undefined;

  /** Tells which application to describe. */
  describe(app: INestApplication): void {
    this.app = app;
  }

  /** The document as JSON and as YAML. */
  texts(): Promise<{ json: string; yaml: string }> {
    return (this.made ??= this.make());
  }

  private async make(): Promise<{ json: string; yaml: string }> {
    if (!this.app) throw new Error('The document was asked for before the application was there.');
    const { openApiDocument } = await import('./document.js');
    const { dump } = await import('js-yaml');
    const document = openApiDocument(this.app);
    // By way of JSON, which has no undefined values.
    const json = JSON.stringify(document, null, 2) + '\n';
    return { json, yaml: dump(JSON.parse(json), { lineWidth: -1 }) };
  }
}
