import { Argument, Command } from 'commander';
import { Print } from './actions.js';
import { commandLine } from './command-line.js';

/** A command, an option or a choice that may be typed next. */
interface Offer {
  readonly word: string;
  readonly description: string;
}

/** A command, as what is typed behind it sees it. */
interface Place {
  /** Its words behind `petstore`, each with a space before it. */
  readonly at: string;
  /** Its commands, or the choices for its argument. */
  readonly words: readonly Offer[];
  /** Its options, by their long names. */
  readonly options: readonly (Offer & { readonly takesValue: boolean })[];
  /** Whether it has an argument that may be anything, such as a file. */
  readonly takesAny: boolean;
}

// In all three `at` is the place that the words before the current one have led to; an option's value leads nowhere.
const SCRIPTS: Readonly<Record<string, (places: readonly Place[]) => string>> = {
  bash: (places) => `# Completion of petstore for bash; files are offered where nothing else is.
_petstore() {
  local at='' offers='' word current=\${COMP_WORDS[COMP_CWORD]}
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$at $word" in ${ways(places).join(' | ')}) at="$at $word" ;; esac
  done
  case "$at \${COMP_WORDS[COMP_CWORD-1]}" in ${valued(places).join(' | ')}) return ;; esac
  case "$at:$current" in
${cases(places, (offers) => quote(offers.map(({ word }) => word).join(' ')))}
  esac
  COMPREPLY=($(compgen -W "$offers" -- "$current"))
}
complete -o default -F _petstore petstore`,

  zsh: (places) => `#compdef petstore
# Completion of petstore for zsh.
_petstore() {
  local at='' word
  local -a offers
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in ${ways(places).join(' | ')}) at="$at $word" ;; esac
  done
  case "$at \${words[CURRENT-1]}" in ${valued(places).join(' | ')}) _files; return ;; esac
  case "$at:$PREFIX" in
${cases(places, (offers) => `(${offers.map(({ word, description }) => quote(`${word}:${description}`)).join(' ')})`)}
  esac
  if (( $#offers )); then _describe petstore offers; else _files; fi
}
if [[ $funcstack[1] == _petstore ]]; then _petstore; else compdef _petstore petstore; fi`,

  fish: (places) => `# Completion of petstore for fish.
function __petstore_at
  set -l at ''
  set -l typed (commandline -opc)
  set -e typed[1]
  for word in $typed
    contains -- "$at $word" ${ways(places).join(' ')}; and set at "$at $word"
  end
  test "$at" = "$argv"
end
complete -c petstore -f
${places.flatMap(fishLines).join('\n')}`,
};

/** Adds `completion`, which prints what makes a shell complete the commands and options of the program. */
export function addCompletionCommand(petstore: Command, print: Print): void {
  petstore
    .command('completion')
    .description('print a script by which a shell completes commands and options')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SCRIPTS)))
    .action((shell: string) =>
      print(SCRIPTS[shell]?.(pathsBelow(petstore).map((path) => placeAt(petstore, path))) ?? ''),
    );
}

/** The words of a command's own commands, and of theirs; not of `help`, behind which the commands are offered that it is about. */
function pathsBelow(command: Command, path: readonly string[] = []): (readonly string[])[] {
  return [path, ...command.commands.flatMap((each) => pathsBelow(each, [...path, each.name()]))];
}

function placeAt(petstore: Command, path: readonly string[]): Place {
  const command = commandAt(petstore, path);
  // With the options of the command that is meant if nothing but they follow.
  const options = [command, commandAt(petstore, commandLine(path))].flatMap((each) =>
    each
      .createHelp()
      .visibleOptions(each)
      .map(({ long, description, required }) => ({ word: long ?? '', description, takesValue: required })),
  );
  const choices = command.registeredArguments.flatMap(({ argChoices = [], description }) =>
    argChoices.map((word) => ({ word, description })),
  );
  const commands = command.createHelp().visibleCommands(command);
  return {
    at: path.map((word) => ` ${word}`).join(''),
    words: [...commands.map((each) => ({ word: each.name(), description: each.description() })), ...choices],
    options: [...new Map(options.map((option) => [option.word, option])).values()],
    takesAny: command.registeredArguments.length > 0 && choices.length === 0,
  };
}

function commandAt(petstore: Command, path: readonly string[]): Command {
  return path.reduce((command, name) => command.commands.find((each) => each.name() === name) ?? command, petstore);
}

/** The words that lead from one place to another. */
function ways(places: readonly Place[]): string[] {
  return places.flatMap(({ at }) => (at === '' ? [] : [quote(at)]));
}

/** The options that a value follows, each behind its place. */
function valued(places: readonly Place[]): string[] {
  return places.flatMap(({ at, options }) =>
    options.filter(({ takesValue }) => takesValue).map(({ word }) => quote(`${at} ${word}`)),
  );
}

/** For bash and zsh: what to offer at each place, for a word that begins with a dash and for any other. */
function cases(places: readonly Place[], list: (offers: readonly Offer[]) => string): string {
  const lines = places.flatMap(({ at, words, options, takesAny }) => [
    `    ${quote(`${at}:-`)}*) offers=${list(options)} ;;`,
    `    ${quote(`${at}:`)}*) offers=${list(words.length > 0 || takesAny ? words : options)} ;;`,
  ]);
  return lines.join('\n');
}

function fishLines({ at, words, options, takesAny }: Place): string[] {
  const line = (rest: string) => `complete -c petstore -n ${quoteForFish(`__petstore_at ${quoteForFish(at)}`)} ${rest}`;
  return [
    ...words.map(({ word, description }) => line(`-a ${quoteForFish(word)} -d ${quoteForFish(description)}`)),
    ...options.map(({ word, description, takesValue }) =>
      line(`-l ${word.replace(/^--/, '')} ${takesValue ? '-r ' : ''}-d ${quoteForFish(description)}`),
    ),
    ...(takesAny ? [line('-F')] : []),
  ];
}

/** A text as a word of bash and zsh. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function quoteForFish(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`;
}
