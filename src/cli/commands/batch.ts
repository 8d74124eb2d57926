/** `batch`: shows one batch, once or until it has ended. */
import type { Milliseconds } from '../../base/clock';
import { oneLine } from '../../base/plain-text';
import type { Batch } from '../../dispatch/batch/batch';
import type { BatchCallbackJob } from '../../dispatch/batch/callback-jobs';
import { batchDocument, stateOf } from '../../dispatch/batch/batch-document';
import {
  BATCH_FLAGS,
  BATCH_WORD,
  type BatchFlags,
  countsText,
  failUnknownBatch,
  openForBatches,
  progressText,
  watchLine,
} from '../batch-text';
import { type Call, defineCommand } from '../command';
import { on } from '../flags';
import { agoText, momentText } from '../moments';
import { Pace } from '../progress';

/** Each redraw costs a call to the store. */
const WATCH_INTERVAL: Milliseconds = 500;

export const batch = defineCommand({
  name: 'batch',
  summary: 'show one batch, with --watch until it has ended',
  description:
    'With --watch, a bar shows its progress until all its jobs have ended; without a terminal, each change prints a line. The exit code is 0 even if jobs have failed; onqueue failed --batch=<id> lists those.',
  examples: [
    ['onqueue batch 0193a6c1-…', 'its present state'],
    ['onqueue batch 0193a6c1-… --watch', 'watch its progress'],
    ['onqueue batch 0193a6c1-… --watch --json', 'wait for its end, for a program'],
  ],
  words: BATCH_WORD,
  flags: { ...BATCH_FLAGS, watch: on('show its progress until it has ended') },
  async run(call) {
    const [id = ''] = call.words;
    const manager = await openForBatches(call);
    const found = await manager.batches.get(id, call.flags);
    const shown = found !== undefined && call.flags.watch === true ? await watched(call, found) : found;
    if (shown === undefined) failUnknownBatch(call, manager, id);
    else show(call, shown, await shown.callbacks());
  },
});

/** The batch after its end. Undefined if it was forgotten meanwhile. */
async function watched({ output, session }: Call<BatchFlags>, first: Batch): Promise<Batch | undefined> {
  const { clock } = session.surroundings;
  const pace = new Pace(clock);
  let current: Batch | undefined = first;
  let told = '';
  try {
    while (current !== undefined && !current.isFinished) {
      const { room } = output;
      if (room !== undefined) output.renew(watchLine(current, pace, room));
      else {
        const line = `${progressText(current)}: ${countsText(current)}`;
        if (line !== told) output.line(line);
        told = line;
      }
      await new Promise<void>((resolve) => void clock.after(WATCH_INTERVAL, resolve, true));
      current = await current.refresh();
    }
    return current;
  } finally {
    output.renew('');
  }
}

function show({ output, session }: Call<BatchFlags>, shown: Batch, callbacks: readonly BatchCallbackJob[]): void {
  const { id, name, connection, allowsFailures, createdAt, cancelledAt, finishedAt } = shown;
  const now = session.surroundings.clock.now();
  output.result({ ...batchDocument(shown), callbacks });
  if (name !== '') output.line(`Name        ${oneLine(name)}`);
  output.line(`Id          ${id}`);
  output.line(`On          ${connection}`);
  output.line(`State       ${stateOf(shown)}`);
  output.line(`Progress    ${progressText(shown)}`);
  output.line(`Jobs        ${countsText(shown)}`);
  output.line(`Failures    ${allowsFailures ? 'the others go on' : 'the first cancels it'}`);
  for (const { on, name: job, queue, isSent } of callbacks)
    output.line(
      `${on[0]!.toUpperCase()}${on.slice(1).padEnd(11)}${oneLine(job)} in ${oneLine(queue)}${isSent ? ', sent' : ''}`,
    );
  const moments = { Created: createdAt, Cancelled: cancelledAt, Finished: finishedAt };
  for (const [word, moment] of Object.entries(moments)) {
    if (moment !== undefined) output.line(`${word.padEnd(12)}${momentText(moment)}, ${agoText(moment, now)}`);
  }
}
