import { Argument, type Command } from 'commander';
import { completionScript, shells, type Shell } from '../completion-script.ts';
import type { CliContext } from '../context.ts';

const help = `
Put it where the shell finds it, for example:
  bash  order-sync completion bash > ~/.local/share/bash-completion/completions/order-sync
  zsh   order-sync completion zsh > ~/.order-sync.zsh    and in ~/.zshrc, after compinit:  source ~/.order-sync.zsh
  fish  order-sync completion fish > ~/.config/fish/completions/order-sync.fish`;

export function addCompletion(program: Command, context: CliContext): void {
  program
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText('after', help)
    .action((shell: Shell) => void context.stdout.write(completionScript(shell, program)));
}
