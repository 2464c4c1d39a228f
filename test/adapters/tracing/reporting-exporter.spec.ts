import { afterEach, describe, expect, it } from '@jest/globals';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { ReportingExporter } from '../../../src/adapters/tracing/reporting-exporter.js';
import { Collector } from '../../support/collector.js';
import { freePort } from '../../support/servers.js';

describe('the exporter of spans', () => {
  let collector: Collector | undefined;

  afterEach(() => collector?.close());

  it('tells once that spans are lost, and that they are no longer', async () => {
    const port = await freePort();
    const said: string[] = [];
    const inner = new OTLPTraceExporter({ url: `http://127.0.0.1:${port}/v1/traces`, timeoutMillis: 200 });
    const exporter = new ReportingExporter(inner, (message) => said.push(message));
    const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
    const send = async (name: string) => {
      provider.getTracer('test').startSpan(name).end();
      await provider.forceFlush();
    };
    await send('lost');
    await send('lost too');
    const away = `Traces cannot be delivered (connect ECONNREFUSED 127.0.0.1:${port}, ECONNREFUSED); they are dropped until they can.`;
    expect(said).toEqual([away]);
    collector = await Collector.open(port);
    await send('taken');
    await send('taken too');
    expect(said).toEqual([away, 'Traces are delivered again; 2 spans were lost.']);
    expect(collector.spans.map(({ name }) => name)).toEqual(['taken', 'taken too']);
    collector.mood = 'hangs';
    await send('lost');
    expect(said).toHaveLength(3);
    expect(said[2]).toMatch(/^Traces cannot be delivered \(.*timed out.*\); they are dropped until they can\.$/);
    await provider.shutdown();
  });
});
