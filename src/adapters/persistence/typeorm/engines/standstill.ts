import { Socket } from 'node:net';

/** How much longer than the server the service waits, so that a server that is alive can end a statement by itself; in milliseconds. */
const GRACE = 500;

/**
 * Breaks the connection if it stands still while an answer is due: a server, or the way to it, may vanish without a word.
 * Call it once for each connection.
 */
export function breakWhenStill(socket: Socket): void {
  socket.on('timeout', () => {
    const error = new Error('The database did not answer in time.');
    socket.destroy(Object.assign(error, { code: 'ETIMEDOUT' }));
  });
}

/**
 * Breaks the connection on what its driver cannot read: what a listener throws while the socket hands it over would end the process. Call it once for
 * each connection.
 */
export function breakIfUnreadable(socket: Socket): void {
  const emit = socket.emit.bind(socket) as (...event: unknown[]) => boolean;
  socket.emit = (...event: unknown[]) => {
    try {
      return emit(...event);
    } catch (cause) {
      if (event[0] !== 'data') throw cause;
      const error = new Error('The database sent what cannot be read.', { cause });
      socket.destroy(Object.assign(error, { code: 'ECONNRESET' }));
      return true;
    }
  };
}

/** Says that answers are due on this connection from now on, each within so many milliseconds. */
export function answersDue(socket: Socket, milliseconds: number): void {
  socket.setTimeout(milliseconds + GRACE);
}

/** Says that nothing more is due. */
export function nothingDue(socket: Socket): void {
  socket.setTimeout(0);
}
