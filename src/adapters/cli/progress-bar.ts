/** What a bar is drawn on. */
export interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const WIDTH = 30;

/** A bar that grows on one line of a terminal; nothing where the output goes elsewhere. */
export class ProgressBar {
  private drawn = '';

  constructor(
    private readonly terminal: Terminal,
    private readonly total: number,
  ) {}

  /** Shows that so many are done; the line ends when all are. */
  show(done: number): void {
    if (!this.terminal.isTTY) return;
    const filled = Math.floor((WIDTH * done) / this.total);
    const bar = `${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)} ${Math.floor((100 * done) / this.total)} %`;
    if (bar !== this.drawn) this.terminal.write(`\r${bar}`);
    if (done === this.total) this.terminal.write('\n');
    this.drawn = bar;
  }
}
