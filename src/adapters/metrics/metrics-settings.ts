/** Where the metrics are shown. */
export interface MetricsSettings {
  /** A TCP port, 0 for any free one. */
  readonly port: number;
  readonly host: string;
}
