import js from '@eslint/js';
import { configs as regexp } from 'eslint-plugin-regexp';
import tseslint from 'typescript-eslint';

const BROWSER_GLOBALS = [
  'document',
  'location',
  'matchMedia',
  'MutationObserver',
  'sessionStorage',
  'SwaggerUIBundle',
  'window',
];
const NODE_GLOBALS = ['Buffer', 'console', 'fetch', 'performance', 'process', 'setTimeout', 'URL', 'URLSearchParams'];

export default tseslint.config(
  { ignores: ['client/wire.ts', 'dist/', 'node_modules/', 'test-output/'] },
  js.configs.recommended,
  {
    files: ['client/**', 'src/**'],
    plugins: regexp['flat/recommended'].plugins,
    rules: {
      // What a client sends must cost no more than its length, whatever it is.
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential', ignoreSticky: true }],
    },
  },
  {
    files: ['src/**'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: 'MemberExpression[object.type!="ThisExpression"][property.name=/^_/]',
          message: 'Members that begin with _ are internals of others, and change without notice.',
        },
        {
          selector: 'TSAsExpression > TSAsExpression[typeAnnotation.type="TSUnknownKeyword"]',
          message: 'A double cast disables type checking. At most three may be disabled, each with its reason.',
        },
      ],
    },
  },
  {
    files: ['{client,src}/**/*.{ts,js}'],
    rules: { 'max-len': ['error', { code: 120 }] },
  },
  {
    files: ['src/**'],
    ignores: ['src/settings/settings.ts'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Only src/settings/settings.ts reads the environment.' },
      ],
    },
  },
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.recommendedTypeChecked, ...tseslint.configs.stylisticTypeChecked],
  },
  {
    files: ['**/*.ts'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // An assertion that says what it asserts reads better than an exclamation mark.
      '@typescript-eslint/non-nullable-type-assertion-style': 'off',
      // An empty setting or header is as good as none.
      '@typescript-eslint/prefer-nullish-coalescing': ['error', { ignorePrimitives: { string: true } }],
      // A regular expression that looks for control characters is the point of it.
      'no-control-regex': 'off',
    },
  },
  // Tests destructure stores, whose methods are bound.
  { files: ['test/**'], rules: { '@typescript-eslint/unbound-method': 'off' } },
  {
    files: ['**/*.{js,mjs}'],
    languageOptions: { globals: Object.fromEntries(NODE_GLOBALS.map((name) => [name, 'readonly'])) },
  },
  {
    files: ['src/**/assets/*.js'],
    languageOptions: { globals: Object.fromEntries(BROWSER_GLOBALS.map((name) => [name, 'readonly'])) },
  },
);
