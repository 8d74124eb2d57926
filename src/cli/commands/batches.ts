/** `batches`: lists the batches of a connection. */
import { batchDocument, stateOf } from '../../dispatch/batch/batch-document';
import { BATCH_FLAGS, openForBatches, progressText } from '../batch-text';
import { defineCommand } from '../command';
import { count } from '../flags';
import { agoText } from '../moments';

const DEFAULT_LIMIT = 100;
/** Columns that a name needs. */
const READABLE_NAME = 12;

export const batches = defineCommand({
  name: 'batches',
  summary: 'list the batches, newest first',
  description: 'Finished batches are kept for a day.',
  examples: [
    ['onqueue batches', 'the newest of the default connection'],
    ['onqueue batches --connection=redis --limit=10', 'of another connection'],
    ["onqueue batches --json | jq '.[] | select(.failed > 0)'", 'for a program'],
  ],
  flags: { ...BATCH_FLAGS, limit: count('<count>', `how many to list at most (default: ${DEFAULT_LIMIT})`, 1) },
  async run(call) {
    const { connection, limit = DEFAULT_LIMIT } = call.flags;
    const { output, session } = call;
    const manager = await openForBatches(call);
    // One more, to know whether there are more.
    const found = await manager.batches.list({ connection, limit: limit + 1 });
    const shown = found.slice(0, limit);
    output.result(shown.map(batchDocument));
    if (shown.length === 0) output.line('No batches.');
    else {
      const now = session.surroundings.clock.now();
      const rows = shown.map((batch) => {
        const { id, name, failed, createdAt } = batch;
        return [id, progressText(batch), failed, stateOf(batch), agoText(createdAt, now), name];
      });
      output.list(['id', 'progress', 'failed', 'state', 'created', 'name'], rows, READABLE_NAME);
    }
    if (found.length > limit) output.note(`There are more than these ${limit}; raise --limit to see them.`);
  },
});
