/** `batches`, `batch`, `batch:cancel` and `batch:retry`: the batches of a connection. */
import { sleep, type Milliseconds } from '../../base/clock';
import { oneLine } from '../../base/text';
import { batchDocument, stateOf, type Batch } from '../../dispatch/batch/batch';
import type { BatchCallbackJob } from '../../dispatch/batch/members';
import type { QueueConnection } from '../../dispatch/queue-connection';
import { defineCommand, type Call } from '../command';
import { CONNECTION, LIMIT, LISTED, on } from '../flags';
import { defineList } from '../list';
import { openConnection } from '../named-queues';
import { agoText, type Cell, counted, momentText } from '../output';
import { doneText, fromLeft, Pace, progressLine, showingProgress, type Progress } from '../progress';

/** Columns that a name needs. */
const READABLE_NAME = 12;
/** Each redraw costs a call to the store. */
const WATCH_INTERVAL: Milliseconds = 500;

const WORD = ['<id>', 'the id of the batch, as listed by onqueue batches'] as const;

export const batches = defineList({
  name: 'batches',
  summary: 'list the batches, newest first',
  description: 'Finished batches are kept for a day.',
  examples: [
    ['onqueue batches', 'the newest of the default connection'],
    ['onqueue batches --connection=redis --limit=10', 'of another connection'],
    ["onqueue batches --json | jq '.items[] | select(.failed > 0)'", 'for a program'],
  ],
  flags: { connection: CONNECTION, limit: LIMIT },
  async run(call) {
    const { connection, limit = LISTED } = call.flags;
    const { output, session } = call;
    const { manager } = await openConnection(call);
    // One more, to know whether there are more.
    const found = await manager.batches.list({ connection, limit: limit + 1 });
    const shown = found.slice(0, limit);
    output.result(shown.map(batchDocument));
    if (shown.length === 0) output.line('No batches.');
    else {
      const now = session.surroundings.clock.now();
      const rows = shown.map((batch) => {
        const { id, name, createdAt } = batch;
        return [id, stateCell(batch), output.past(createdAt, now), name];
      });
      output.list(['id', 'state', 'created', 'name'], rows, READABLE_NAME);
    }
    if (found.length > limit) output.note(`There are more than these ${limit}; raise --limit to see them.`);
  },
});

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
  words: WORD,
  flags: { connection: CONNECTION, watch: on('show its progress until it has ended') },
  async run(call) {
    const [id = ''] = call.words;
    const { manager, connection } = await openConnection(call);
    const found = await manager.batches.get(id, call.flags);
    const shown = found !== undefined && call.flags.watch === true ? await watched(call, found) : found;
    if (shown === undefined) failUnknown(call, connection, id);
    else show(call, shown, await shown.callbacks());
  },
});

export const batchCancel = defineCommand({
  name: 'batch:cancel',
  summary: 'cancel a batch: its waiting jobs are skipped',
  description: 'Running jobs go on. Its finally() job is sent when none is left.',
  examples: [
    ['onqueue batch:cancel 0193a6c1-…', 'a batch of the default connection'],
    ['onqueue batch:cancel --connection=redis --json 0193a6c1-…', 'for a program'],
  ],
  words: WORD,
  flags: { connection: CONNECTION },
  async run(call) {
    const { flags, output } = call;
    const [id = ''] = call.words;
    const { manager, connection } = await openConnection(call);
    const cancelled = await manager.batches.cancel(id, flags);
    const found = await manager.batches.get(id, flags);
    if (found === undefined) return failUnknown(call, connection, id);
    const line = cancelled
      ? `Cancelled ${titleOf(found)}: its waiting jobs are skipped.`
      : `Nothing to cancel: ${titleOf(found)} ${found.isCancelled ? 'was already cancelled' : 'has finished'}.`;
    output.result({ id, cancelled, state: stateOf(found) }, line);
  },
});

export const batchRetry = defineCommand({
  name: 'batch:retry',
  summary: 'send the failed jobs of a batch back, with all their tries',
  description:
    'The batch is no longer cancelled, and its then() job is sent once all jobs have completed. If the batch itself is no longer kept, use onqueue retry --batch=<id>.',
  examples: [
    ['onqueue batch:retry 0193a6c1-…', 'a batch of the default connection'],
    ['onqueue batch:retry --connection=redis --json 0193a6c1-…', 'for a program'],
  ],
  words: WORD,
  flags: { connection: CONNECTION },
  async run(call) {
    const { flags, output } = call;
    const [id = ''] = call.words;
    const { manager, connection } = await openConnection(call);
    const found = await manager.batches.get(id, flags);
    if (found === undefined) return failUnknown(call, connection, id);
    const failed = async (): Promise<number> => (await manager.batches.get(id, flags))?.failed ?? 0;
    const retryThem = (): Promise<number> => manager.batches.retryFailed(id, flags);
    const retried = await showingProgress(call, 'Retrying', retryThem, fromLeft(failed));
    const skipped = (await manager.batches.get(id, flags))?.skipped ?? 0;
    const left =
      skipped === 0 ? '' : ` Its ${counted(skipped, 'skipped job')} will not run, so then() will not be sent.`;
    output.result({ id, retried, skipped }, `Sent ${counted(retried, 'failed job')} of ${titleOf(found)} back.${left}`);
  },
});

function failUnknown(call: Call, { name }: QueueConnection, id: string): void {
  call.fail(
    `There is no batch '${id}' on ${name}: finished ones are kept for a day. onqueue batches lists the others.`,
  );
}

/** The batch after its end. Undefined if it was forgotten meanwhile. */
async function watched({ output, session }: Call, first: Batch): Promise<Batch | undefined> {
  const { clock } = session.surroundings;
  const pace = new Pace(clock);
  let current: Batch | undefined = first;
  let told = '';
  try {
    while (current !== undefined && !current.isFinished) {
      const { room } = output;
      if (room !== undefined) output.renew(watchLine(current, pace, room));
      else {
        const line = `${doneText(progressOf(current))}: ${countsText(current)}`;
        if (line !== told) output.line(line);
        told = line;
      }
      await sleep(clock, WATCH_INTERVAL);
      current = await current.refresh();
    }
    return current;
  } finally {
    output.renew('');
  }
}

function show({ output, session }: Call, shown: Batch, callbacks: readonly BatchCallbackJob[]): void {
  const { id, name, connection, allowsFailures, createdAt, cancelledAt, finishedAt } = shown;
  const now = session.surroundings.clock.now();
  const when = (moment: Date | undefined) => moment && `${momentText(moment)}, ${agoText(moment, now)}`;
  output.result({ ...batchDocument(shown), callbacks });
  output.facts([
    ['Name', name || undefined],
    ['Id', id],
    ['On', connection],
    ['State', stateOf(shown)],
    ['Progress', doneText(progressOf(shown))],
    ['Jobs', countsText(shown)],
    ['Failures', allowsFailures ? 'the others go on' : 'the first cancels it'],
    ...callbacks.map(({ on, name: job, queue, isSent }) => {
      return [on[0]!.toUpperCase() + on.slice(1), `${job} in ${queue}${isSent ? ', sent' : ''}`] as const;
    }),
    ['Created', when(createdAt)],
    ['Cancelled', when(cancelledAt)],
    ['Finished', when(finishedAt)],
  ]);
}

/** `cancelled, 4 failed, 50% of 20`: what is out of the ordinary comes first, because a narrow terminal cuts the rest. */
function stateCell(batch: Batch): Cell {
  const { failed } = batch;
  const state = stateOf(batch);
  const isUsual = state === 'running' || state === 'finished';
  const words = [
    ...(isUsual ? [] : [state]),
    ...(failed > 0 ? [`${numberText(failed)} failed`] : []),
    doneText(progressOf(batch)),
  ];
  return { text: words.join(', '), tone: failed > 0 ? 'bad' : undefined };
}

/** `10 pending, 8 completed, 1 failed, 1 skipped` */
function countsText({ pending, completed, failed, skipped }: Batch): string {
  return Object.entries({ pending, completed, failed, skipped })
    .map(([word, count]) => `${numberText(count)} ${word}`)
    .join(', ');
}

/** `the batch sheets (20 jobs)` */
function titleOf({ name, id, total }: Batch): string {
  return `the batch ${oneLine(name) || id} (${counted(total, 'job')})`;
}

/** `[####----] 50% of 20, 1 failed, 3/s, 3s left`, in fewer columns than `room`. */
function watchLine(batch: Batch, pace: Pace, room: number): string {
  const { failed, skipped } = batch;
  const state = stateOf(batch);
  const progress = progressOf(batch);
  const facts = [
    doneText(progress),
    ...(failed > 0 ? [`${numberText(failed)} failed`] : []),
    ...(skipped > 0 ? [`${numberText(skipped)} skipped`] : []),
    ...(state === 'running' ? [] : [state]),
    ...pace.facts(progress),
  ];
  return progressLine('', progress, facts, room);
}

function progressOf({ total, pending }: Batch): Progress {
  return { done: total - pending, total };
}

function numberText(count: number): string {
  return count.toLocaleString('en-US');
}
