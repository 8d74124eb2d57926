/** `flush`: removes all failed jobs for good. */
import type { Command } from 'commander';
import { newCommand } from '../command';
import { counted } from '../counted';
import { failedCount } from '../failed-count';
import { openForFailed } from '../memory-remark';
import { addJsonOption, addProjectOptions, type ProjectFlags } from '../options';
import type { Session } from '../session';

interface FlushFlags extends ProjectFlags {
  readonly queue?: string | undefined;
}

export function flushCommand(session: Session): Command {
  const command = newCommand('flush', {
    summary: 'remove all failed jobs for good',
    description: 'For those of before some time only, see prune.',
    examples: [
      ['onqueue flush', 'all'],
      ['onqueue flush --queue=mail', 'those of one queue'],
    ],
  }).option('--queue <name>', 'only those of this queue');
  return addJsonOption(addProjectOptions(command)).action((flags: FlushFlags) => flush(session, flags));
}

async function flush(session: Session, flags: FlushFlags): Promise<void> {
  const { output } = session;
  const manager = await openForFailed(session, flags);
  const flushed = await output.counting(
    'Removing failed jobs',
    () => failedCount(manager, flags.queue),
    () => manager.failed.flush(flags.queue),
  );
  if (flags.json === true) output.json({ flushed });
  else output.line(`Removed ${counted(flushed, 'failed job')}.`);
}
