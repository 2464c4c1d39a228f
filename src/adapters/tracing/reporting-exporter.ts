import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';

type Done = Parameters<SpanExporter['export']>[1];

/** Hands spans on, and tells in a sentence when they cannot be delivered, and when they can again. */
export class ReportingExporter implements SpanExporter {
  private lost = 0;

  constructor(
    private readonly exporter: SpanExporter,
    private readonly report: (message: string) => void,
  ) {}

  export(spans: ReadableSpan[], done: Done): void {
    this.exporter.export(spans, (result) => {
      const isFirst = this.lost === 0;
      if (result.error ?? result.code) {
        this.lost += spans.length;
        if (isFirst)
          this.report(`Traces cannot be delivered (${reason(result.error)}); they are dropped until they can.`);
      } else if (!isFirst) {
        this.report(`Traces are delivered again; ${this.lost} spans were lost.`);
        this.lost = 0;
      }
      // It is told already; the SDK would tell of each batch.
      done({ code: 0 });
    });
  }

  shutdown(): Promise<void> {
    return this.exporter.shutdown();
  }
}

/** Why, in short: not what a collector says in the body of its answer. */
function reason(error: (Error & { code?: string | number }) | undefined): string {
  return [error?.message, error?.code].filter(Boolean).join(', ') || 'no reason given';
}
