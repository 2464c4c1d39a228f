/** How it is decided which traces are kept, by the names that OpenTelemetry gives. */
export const SAMPLERS = [
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
  'always_on',
  'always_off',
  'traceidratio',
] as const;

/** Where traces go, and which of them. */
export interface TracingSettings {
  /** The address of the collector, OTLP over HTTP; without a slash at its end; `/v1/traces` is added to it. */
  readonly endpoint: string;
  readonly serviceName: string;
  readonly sampler: (typeof SAMPLERS)[number];
  /** Which part of the traces is kept, 0 to 1, if the sampler goes by a ratio. */
  readonly ratio: number;
  /** For how long a stop waits for the collector to take the last spans, in milliseconds. */
  readonly flushTimeout: number;
}
