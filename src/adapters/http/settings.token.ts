/** The token of the settings: `@Inject(SETTINGS_TOKEN) settings: Settings`. */
export const SETTINGS_TOKEN = Symbol('SETTINGS');
