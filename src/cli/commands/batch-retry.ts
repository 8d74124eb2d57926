/** `batch:retry`: sends the failed jobs of a batch back. */
import { BATCH_FLAGS, BATCH_WORD, failUnknownBatch, openForBatches, titleOf } from '../batch-text';
import { defineCommand } from '../command';
import { fromLeft, showingProgress } from '../progress';
import { counted } from '../table';

export const batchRetry = defineCommand({
  name: 'batch:retry',
  summary: 'send the failed jobs of a batch back, with all their tries',
  description:
    'The batch is no longer cancelled, and its then() job is sent once all jobs have completed. If the batch itself is no longer kept, use onqueue retry --batch=<id>.',
  examples: [
    ['onqueue batch:retry 0193a6c1-…', 'a batch of the default connection'],
    ['onqueue batch:retry --connection=redis --json 0193a6c1-…', 'for a program'],
  ],
  words: BATCH_WORD,
  flags: BATCH_FLAGS,
  async run(call) {
    const { flags, output } = call;
    const [id = ''] = call.words;
    const manager = await openForBatches(call);
    const found = await manager.batches.get(id, flags);
    if (found === undefined) return failUnknownBatch(call, manager, id);
    const failed = async (): Promise<number> => (await manager.batches.get(id, flags))?.failed ?? 0;
    const retryThem = (): Promise<number> => manager.batches.retryFailed(id, flags);
    const retried = await showingProgress(call, 'Retrying', retryThem, fromLeft(failed));
    const skipped = (await manager.batches.get(id, flags))?.skipped ?? 0;
    const left =
      skipped === 0 ? '' : ` Its ${counted(skipped, 'skipped job')} will not run, so then() will not be sent.`;
    output.result({ id, retried, skipped }, `Sent ${counted(retried, 'failed job')} of ${titleOf(found)} back.${left}`);
  },
});
