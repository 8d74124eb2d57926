/** `batch:cancel`: ends a batch before its jobs have run. */
import { stateOf } from '../../dispatch/batch/batch-document';
import { BATCH_FLAGS, BATCH_WORD, failUnknownBatch, openForBatches, titleOf } from '../batch-text';
import { defineCommand } from '../command';

export const batchCancel = defineCommand({
  name: 'batch:cancel',
  summary: 'cancel a batch: its jobs that wait are skipped',
  description: 'Those that run go on. What it sends when none is left (`finally`) is sent.',
  examples: [
    ['onqueue batch:cancel 0193a6c1-…', 'this one, of the default connection'],
    ['onqueue batch:cancel --connection=redis --json 0193a6c1-…', 'for a program'],
  ],
  words: BATCH_WORD,
  flags: BATCH_FLAGS,
  async run(call) {
    const { flags, output } = call;
    const [id = ''] = call.words;
    const manager = await openForBatches(call);
    const cancelled = await manager.batches.cancel(id, flags);
    const found = await manager.batches.get(id, flags);
    if (found === undefined) return failUnknownBatch(call, manager, id);
    const title = titleOf(found);
    const line = cancelled
      ? `Cancelled ${title}: its jobs that wait are skipped.`
      : `Nothing to cancel: ${title} ${found.isCancelled ? 'was cancelled before' : 'has finished'}.`;
    output.result({ id, cancelled, state: stateOf(found) }, line);
  },
});
