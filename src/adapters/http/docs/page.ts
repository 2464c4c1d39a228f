/** The page of the documentation. It is relative, so that it works behind a proxy that serves it under another path. */
export const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Pet store</title>
    <link rel="icon" type="image/png" href="docs/favicon-32x32.png" sizes="32x32">
    <link rel="stylesheet" href="docs/swagger-ui.css">
    <link rel="stylesheet" href="docs/page.css">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="docs/start.js"></script>
  </body>
</html>
`;

/**
 * What the page may load, which is from here alone, and whom it may call: this instance, and those that the document's servers name, by
 * their base addresses.
 */
export function pagePolicy(servers: readonly string[]): string {
  const origins = servers.filter((address) => URL.canParse(address)).map((address) => new URL(address).origin);
  const called = [...new Set(["'self'", ...origins])].join(' ');
  return (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; " +
    `connect-src ${called}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
  );
}
