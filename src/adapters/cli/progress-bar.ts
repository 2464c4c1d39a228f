/** What a bar is drawn on. */
export interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const WIDTH = 30;

/** A bar that grows on one line of a terminal; nothing if the output goes elsewhere. */
export class ProgressBar {
  private drawn = '';

  constructor(private readonly terminal: Terminal) {}

  /** Shows that so many of all are done, and of what. */
  show(done: number, total: number, what: string): void {
    if (!this.terminal.isTTY) return;
    const part = total === 0 ? 1 : done / total;
    const bar = `${'#'.repeat(Math.floor(part * WIDTH)).padEnd(WIDTH, '.')} ${Math.floor(100 * part)} % ${what}`;
    if (bar !== this.drawn) this.terminal.write(`\r\x1b[K${bar}`);
    this.drawn = bar;
  }

  /** Ends the line, if there is one. */
  end(): void {
    if (this.drawn !== '') this.terminal.write('\n');
  }
}
