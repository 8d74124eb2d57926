/** A list: a command whose rows are cut at the width of the terminal unless `--wide` is given, and which `--watch` redraws. */
import type { Milliseconds } from '../base/clock';
import { oneLine } from '../base/text';
import { type Call, type CommandDeclaration, type CommandOf, defineCommand } from './command';
import { ExitCode } from './errors';
import { commandLineOf, type Flags, on, type ProjectFlags } from './flags';
import { LiveScreen } from './live-screen';
import { counted, momentText, Output } from './output';

/** For what may be wider than a terminal. */
export const WIDE = on('cut nothing at the width of the terminal, and show moments exactly');

const LIST_FLAGS = {
  wide: WIDE,
  watch: on('redraw the list every two seconds until q or Ctrl-C is pressed', { conflicts: 'wide' }),
};

export function defineList<const Table extends Flags>(
  declaration: Omit<CommandDeclaration<Table & typeof LIST_FLAGS>, 'flags'> & { readonly flags?: Table },
): CommandOf {
  const flags = { ...declaration.flags, ...LIST_FLAGS } as Table & typeof LIST_FLAGS;
  return defineCommand({
    ...declaration,
    flags,
    run: (call) =>
      call.flags.watch === true ? redrawn(call, (inside) => declaration.run(inside)) : declaration.run(call),
  });
}

type Print<GivenFlags> = (call: Call<GivenFlags>) => Promise<void> | void;

async function redrawn<GivenFlags extends ProjectFlags>(
  call: Call<GivenFlags>,
  print: Print<GivenFlags>,
): Promise<void> {
  const { session, output } = call;
  const { surroundings } = session;
  const { stdout, clock, onKeys } = surroundings;
  if (output.isJson) call.refuse('give either --watch or --json: a program asks again by running the command again.');
  if (onKeys === undefined || stdout.isTTY !== true)
    call.refuse('--watch redraws a terminal, and there is none. Leave it out, and run the command again and again.');
  let printed: readonly string[] = [];
  let at: Milliseconds = 0;
  const look = async (): Promise<void> => {
    let text = '';
    // What it says beside the list, such as how many more there are, belongs to this look too.
    const screen = { isTTY: true, columns: (stdout.columns ?? 80) - 1, write: (more: string) => (text += more) };
    const inside = new Output(screen, screen);
    session.exitCode = ExitCode.done;
    await print(call.printingTo(inside));
    printed = text.trimEnd().split('\n');
    at = clock.now();
  };
  // A mistake on the command line or in the configuration is an error as without the flag.
  await look();
  await new LiveScreen(surroundings, {
    look,
    body(room) {
      const line = ['onqueue', call.command, ...call.words, ...commandLineOf(call.flags)].join(' ');
      const title = `${momentText(new Date(at))}   ${oneLine(line)}`;
      const space = room - 2;
      const hidden = printed.length - space;
      const shown = hidden <= 0 ? printed : [...printed.slice(0, space - 1), `… ${counted(hidden + 1, 'more line')}`];
      return [title, '', ...shown];
    },
    remark: '',
    keys: 'q: quit',
  }).run(onKeys);
}
