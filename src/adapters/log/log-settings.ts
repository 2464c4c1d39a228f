/** From which weight on a line is written, from none to all. */
export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const;

/** What the log can be told. */
export interface LogSettings {
  readonly level: (typeof LOG_LEVELS)[number];
  /** Whether lines are JSON, for programs; else they are for people. */
  readonly json: boolean;
}
