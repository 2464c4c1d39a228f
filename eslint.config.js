import js from '@eslint/js';
import tseslint from 'typescript-eslint';

const NODE_GLOBALS = ['Buffer', 'console', 'fetch', 'performance', 'process', 'setTimeout', 'URL', 'URLSearchParams'];

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', 'test-output/'] },
  js.configs.recommended,
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
  {
    files: ['**/*.{js,mjs}'],
    languageOptions: { globals: Object.fromEntries(NODE_GLOBALS.map((name) => [name, 'readonly'])) },
  },
);
