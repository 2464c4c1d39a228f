/** For how many turns requests wait at most while connections come in. */
const MOST_TURNS = 256;

/**
 * Handles the requests that arrive in one turn of the event loop together, behind it, and lets the connections that wait in first.
 *
 * Handled one by one, each between the reading of two others, they cost twice the time. And the event loop accepts one connection
 * in a turn: where each turn is as long as all its requests take, the last of many clients that connect at once waits for seconds.
 */
export class Turns {
  private waiting: (() => void)[] = [];
  private underWay = false;
  private connected = false;
  private turns = 0;

  /** Handles a request behind this turn. */
  request(handle: () => void): void {
    this.waiting.push(handle);
    this.begin();
  }

  /** Notes that a connection was accepted, behind which others may wait. */
  connection(): void {
    this.connected = true;
    this.begin();
  }

  /** Handles now what waits. */
  handle(): void {
    this.underWay = false;
    const { waiting } = this;
    this.waiting = [];
    for (const handle of waiting) handle();
  }

  private begin(): void {
    if (this.underWay) return;
    this.underWay = true;
    this.turns = 0;
    setImmediate(this.end);
  }

  private readonly end = (): void => {
    if (this.connected && ++this.turns < MOST_TURNS) {
      this.connected = false;
      setImmediate(this.end);
    } else this.handle();
  };
}
