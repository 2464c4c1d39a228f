/** The page of the documentation. It is relative, so that it works behind a proxy that serves it under another path. */
export const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
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

/** What is mended of Swagger UI's looks: room, contrast, and the width of a telephone. */
export const STYLE = `.swagger-ui .wrapper { max-width: 1160px; }
.swagger-ui .info { margin: 28px 0; }
.swagger-ui .scheme-container { margin: 0 0 12px; padding: 16px 0; border-block: 1px solid #d8dde7; box-shadow: none; }
.swagger-ui .opblock.opblock-get .opblock-summary-method { background: #1f6fc4; }
.swagger-ui .opblock.opblock-post .opblock-summary-method { background: #1c7f51; }
.swagger-ui .opblock.opblock-deprecated { opacity: 1; }
.swagger-ui .opblock.opblock-deprecated .opblock-summary-method { background: #6b7280; }
.swagger-ui .auth-container input[type] { width: 100%; max-width: 100%; }
.swagger-ui .opblock-section-request-body textarea { min-height: 140px; }
.swagger-ui .responses-inner, .swagger-ui .table-container { overflow-x: auto; }
@media (max-width: 640px) { .swagger-ui .opblock .opblock-summary .opblock-summary-operation-id { display: none; } }
`;

/**
 * Starts Swagger UI: the key survives a reload, and every operation can be tried at once. Swagger UI makes a body pretty by way of
 * JavaScript's numbers, which rounds an int64; a body that would not survive that is shown as it came.
 */
export const START = `const exactBodies = {
  wrapComponents: {
    responseBody: (Original, { React }) => (props) => {
      let exact = true;
      try {
        exact = JSON.stringify(JSON.parse(props.content)) === props.content;
      } catch {}
      return React.createElement(Original, exact ? props : { ...props, contentType: 'text/plain' });
    },
  },
};

SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  plugins: [exactBodies],
  deepLinking: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  filter: true,
  displayRequestDuration: true,
  displayOperationId: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
});
`;

/** The page loads from here alone, and calls where its reader tells it to. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; " +
  "connect-src *; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
