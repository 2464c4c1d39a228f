/** What is mended of Swagger UI's looks: room, contrast (WCAG 2.2, 1.4.3) in light and dark, and the width of a telephone. */
export const STYLE = `:root { color-scheme: light dark; }
.swagger-ui .wrapper { max-width: 1160px; }
.swagger-ui .info { margin: 20px 0; }
.swagger-ui .info .title { font-size: 30px; }
.swagger-ui .info hgroup.main { margin-bottom: 12px; }
.swagger-ui .scheme-container { margin: 0 0 8px; padding: 12px 0; border-block: 1px solid #d8dde7; box-shadow: none; }
.swagger-ui .servers-note { margin: 6px 0 0; font-size: 13px; color: #3b4151; }
.swagger-ui .servers > label select { max-width: 100%; }
.swagger-ui .keep-key { display: flex; gap: 8px; align-items: center; margin: 0 0 12px; font-size: 14px; color: #3b4151; }
.swagger-ui .keep-key input { position: static; width: auto; margin: 0; opacity: 1; }
.swagger-ui .info a, .swagger-ui .info .url, .swagger-ui .link, .swagger-ui .renderedMarkdown a { color: #1a5fb4; }
.swagger-ui .info .title small { background: #5c6370; }
.swagger-ui .info .title small.version-stamp { background: #43700a; }
.swagger-ui .btn.authorize, .swagger-ui .btn.authorize span { color: #1c7049; border-color: #1c7049; }
.swagger-ui .btn.authorize svg { fill: currentcolor; }
.swagger-ui .btn.cancel { color: #b3261e; border-color: #b3261e; }
.swagger-ui .btn.execute { background: #1f6fc4; border-color: #1f6fc4; }
.swagger-ui .parameter__in, .swagger-ui .prop-format, .swagger-ui .parameter__name.required::after { color: #5c5c5c; }
.swagger-ui .parameter__name.required span, .swagger-ui .parameter__name.required::after { color: #b3261e; }
.swagger-ui .opblock.opblock-get .opblock-summary-method { background: #1f6fc4; }
.swagger-ui .opblock.opblock-post .opblock-summary-method { background: #1c7f51; }
.swagger-ui .opblock.opblock-deprecated { opacity: 1; }
.swagger-ui .opblock.opblock-deprecated .opblock-summary-method { background: #5c6370; }
.swagger-ui .highlight-code .download-contents { background: #5c6370; }
.swagger-ui .code-sample { margin: 0 20px; font-size: 14px; }
.swagger-ui .code-sample .copy-to-clipboard { right: 10px; }
.swagger-ui .code-sample summary { padding: 6px 0; cursor: pointer; }
.swagger-ui .code-sample + .responses-wrapper { margin-top: 12px; }
.swagger-ui .microlight span[style*='136, 136, 136'] { color: #b5babd !important; }
.swagger-ui .microlight span[style*='211, 99, 99'] { color: #ffa5a0 !important; }
html:not(.dark-mode) .swagger-ui [class*='json-schema-2020-12-'] :is(p, span, button, strong):not([class*='constraint']) { color: #3b4151; }
html:not(.dark-mode) .swagger-ui :is(.json-schema-2020-12-expand-deep-button, .json-schema-2020-12__attribute) { color: #3b4151; }
html:not(.dark-mode) .swagger-ui .json-schema-2020-12-property--required .json-schema-2020-12__title::after { color: #b3261e !important; }
.swagger-ui .btn { transition: none; }
html:not(.dark-mode) .swagger-ui .json-schema-2020-12__constraint[class] { color: #3b4151; background: #fff; }
.swagger-ui .auth-container input[type='text'] { width: 100%; max-width: 100%; }
.swagger-ui .opblock-section-request-body textarea { min-height: 140px; }
.swagger-ui .responses-inner, .swagger-ui .table-container { overflow-x: auto; }
html.dark-mode { background: #1c2022; }
html.dark-mode .swagger-ui .scheme-container { border-color: #42474c; }
html.dark-mode .swagger-ui :is(.servers-note, .keep-key) { color: #e4e6e6; }
html.dark-mode .swagger-ui :is(.info a, .info .url, .link, .renderedMarkdown a) { color: #8ab8ff; }
html.dark-mode .swagger-ui .btn.authorize, html.dark-mode .swagger-ui .btn.authorize span { color: #6fdcab; border-color: #6fdcab; }
html.dark-mode .swagger-ui .btn.authorize svg { fill: currentcolor; }
html.dark-mode .swagger-ui .opblock .opblock-section-header .btn.cancel { color: #ffa5a0; border-color: #ffa5a0; }
html.dark-mode .swagger-ui .btn.execute { color: #fff; background: #1f6fc4; }
html.dark-mode .swagger-ui :is(.parameter__in, .prop-format) { color: #b5babd; }
html.dark-mode .swagger-ui .parameter__name.required :is(span, &::after) { color: #ffa5a0; }
html.dark-mode .swagger-ui .opblock.opblock-deprecated .opblock-summary-method { color: #fff; background: #5c6370; }
html.dark-mode .swagger-ui :is(.headers td, .examples-select__section-label, [class*='json-schema-2020-12-'] :is(p, span, button, strong):not([class*='constraint'])) { color: #e4e6e6; }
@media (prefers-color-scheme: dark) { html { background: #1c2022; } }
@media (max-width: 640px) { .swagger-ui .opblock .opblock-summary :is(.opblock-summary-operation-id, .view-line-link) { display: none; } }
`;
