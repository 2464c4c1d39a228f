/** `;`, and a parameter if one follows: its name, and its value as a token or as a quoted string (RFC 9110, section 5.6.6). */
const PARAMETER = /[ \t]*;[ \t]*(?:([!#$%&'*+.^`|~\w-]+)=(?:([!#$%&'*+.^`|~\w-]+)|"((?:[^"\\]|\\.)*)"))?/y;

/** Whether a Content-Type is `application/json`, with any parameters; `charset`, if it has one, is given once and is `utf-8`. */
export function isJsonInUtf8(contentType: string): boolean {
  let [end] = /^application\/json/i.exec(contentType)?.map(({ length }) => length) ?? [];
  const charsets: string[] = [];
  while (end !== undefined && end < contentType.length) {
    PARAMETER.lastIndex = end;
    const [, name = '', token, text = ''] = PARAMETER.exec(contentType) ?? [];
    if (name.toLowerCase() === 'charset') charsets.push((token ?? text).toLowerCase());
    end = PARAMETER.lastIndex || undefined;
  }
  return end !== undefined && charsets.length < 2 && (charsets[0] ?? 'utf-8') === 'utf-8';
}
