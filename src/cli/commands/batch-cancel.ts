/** `batch:cancel`: ends a batch before its jobs have run. */
import { stateOf } from '../../dispatch/batch/batch-document';
import { BATCH_FLAGS, BATCH_WORD, failUnknownBatch, openForBatches, titleOf } from '../batch-text';
import { defineCommand } from '../command';

export const batchCancel = defineCommand({
  name: 'batch:cancel',
  summary: 'cancel a batch: its waiting jobs are skipped',
  description: 'Running jobs go on. Its finally() job is sent when none is left.',
  examples: [
    ['onqueue batch:cancel 0193a6c1-…', 'a batch of the default connection'],
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
      ? `Cancelled ${title}: its waiting jobs are skipped.`
      : `Nothing to cancel: ${title} ${found.isCancelled ? 'was already cancelled' : 'has finished'}.`;
    output.result({ id, cancelled, state: stateOf(found) }, line);
  },
});
