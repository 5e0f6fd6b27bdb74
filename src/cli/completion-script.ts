import type { Command, Option } from 'commander';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** What may follow the name of a command. */
interface Level {
  /** The names that lead to it, for example `orders list`; empty for the program itself. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly Option[];
}

function levelsOf(command: Command, path = ''): readonly Level[] {
  const commands = command.commands.map((child) => ({ name: child.name(), description: child.description() }));
  const below = command.commands.flatMap((child) => levelsOf(child, `${path} ${child.name()}`.trim()));
  return [{ path, commands, options: command.options.filter((option) => !option.hidden) }, ...below];
}

/** A script for a shell that completes commands, options, and the values of an option with listed ones; else file names. */
export function completionScript(shell: Shell, program: Command): string {
  const levels = levelsOf(program);
  if (shell === 'fish') return fishScript(levels);
  return shell === 'bash' ? bashScript(levels) : `autoload -U +X bashcompinit && bashcompinit\n${bashScript(levels)}`;
}

const namesOf = ({ short, long }: Option): readonly string[] => [short, long].filter((name) => name !== undefined);
const choicesOf = ({ argChoices }: Option): readonly string[] => argChoices ?? [];

/** The names of commands, options and choices have no character that a shell treats specially. */
function bashScript(levels: readonly Level[]): string {
  const words = levels.map(({ path, commands, options }) => {
    const names = [...commands.map(({ name }) => name), ...options.flatMap(namesOf)];
    return `    '${path}') words='${names.join(' ')}' ;;`;
  });
  const values = levels.flatMap(({ path, options }) =>
    options
      .filter((option) => choicesOf(option).length > 0)
      .flatMap((option) =>
        namesOf(option).map((name) => `    '${path} ${name}') words='${choicesOf(option).join(' ')}' ;;`),
      ),
  );
  const paths = levels.filter(({ path }) => path !== '').map(({ path }) => `'${path}'`);
  return `_order_sync() {
  local path= words= word index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${path:+$path }\${COMP_WORDS[index]}"
    case "$word" in ${paths.join(' | ')}) path="$word" ;; esac
  done
  case "$path" in
${words.join('\n')}
  esac
  case "$path \${COMP_WORDS[COMP_CWORD-1]}" in
${values.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _order_sync order-sync
`;
}

const fishText = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

function fishScript(levels: readonly Level[]): string {
  const lines = levels.flatMap(({ path, commands, options }) => {
    const seen = path
      .split(' ')
      .filter((name) => name !== '')
      .map((name) => `__fish_seen_subcommand_from ${name}`);
    const isHere = [...seen, ...(commands.length === 0 ? [] : [notYet(commands)])].join('; and ');
    return [
      ...commands.map(({ name, description }) => fishLine(isHere, `-f -a ${name} -d ${fishText(description)}`)),
      ...options.map((option) => fishLine(seen.join('; and '), fishOption(option))),
    ];
  });
  return `${lines.join('\n')}\n`;
}

const notYet = (commands: Level['commands']): string =>
  `not __fish_seen_subcommand_from ${commands.map(({ name }) => name).join(' ')}`;

const fishLine = (condition: string, rest: string): string =>
  `complete -c order-sync ${condition === '' ? '' : `-n ${fishText(condition)} `}${rest}`;

function fishOption(option: Option): string {
  const choices = choicesOf(option);
  const parts = [
    ...(option.short === undefined ? [] : [`-s ${option.short.replace(/^-/, '')}`]),
    ...(option.long === undefined ? [] : [`-l ${option.long.replace(/^--/, '')}`]),
    ...(choices.length > 0 ? [`-x -a ${fishText(choices.join(' '))}`] : option.required ? ['-r'] : []),
    `-d ${fishText(option.description)}`,
  ];
  return parts.join(' ');
}
