/** `help`: shows the options of a command, or all commands. */
import type { Command } from 'commander';
import { newCommand } from '../command';

/** Commander's own would show everything for a mistyped name, as if nothing were wrong. */
export function helpCommand(program: Command): Command {
  const command = newCommand('help', {
    summary: 'show the options of a command',
    examples: [['onqueue help work', 'all that work takes']],
  });
  return command.argument('[command]', 'name of the command (default: all are listed)').action((name?: string) => {
    const found = name === undefined ? program : program.commands.find((one) => one.name() === name);
    if (found === undefined) program.error(`error: unknown command '${name}'`, { code: 'commander.unknownCommand' });
    else found.help();
  });
}
