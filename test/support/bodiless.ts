/** 204 must have none of these (RFC 9110, section 8.6; RFC 9112, section 6.1), and 304 none but those of the 200, which it need not repeat. */
const OF_CONTENT = ['Content-Length', 'Transfer-Encoding'];

/** Throws if an answer that has no content by its status has a header of one; `header` gives the value of a header. */
export function refuseContentHeaders(status: number, header: (name: string) => unknown): void {
  if (status !== 204 && status !== 304) return;
  const found = OF_CONTENT.find((name) => header(name) !== undefined);
  if (found) throw new Error(`An answer of ${status} has ${found}.`);
}
