const OF_ITSELF: readonly string[] = ['-h', '--help', '-V', '--version'];

/**
 * The arguments with what may be left out: `serve`, and `show` of `migrate`. A default command of commander would take a misspelt name
 * for an argument of its own, and commander could not tell which one was meant.
 */
export function commandLine(args: readonly string[]): string[] {
  const isOption = (arg: string | undefined) => arg === undefined || (arg.startsWith('-') && !OF_ITSELF.includes(arg));
  if (isOption(args[0])) return ['serve', ...args];
  return args[0] === 'migrate' && isOption(args[1]) ? ['migrate', 'show', ...args.slice(1)] : [...args];
}
