/** `inspect`: everything known about one job. */
import type { Milliseconds } from '../../base/clock';
import { oneLine } from '../../base/text';
import type { FoundJob } from '../../operations/found-job';
import type { Attempt, SourceLines } from '../../operations/history/attempt';
import { CHOSEN_FIELDS } from '../../payload/payload-text';
import { isRecord } from '../../payload/values';
import { defineCommand } from '../command';
import { CONNECTION, quoted, text } from '../flags';
import { openConnection } from '../named-queues';
import { agoText, momentText } from '../output';

export const inspect = defineCommand({
  name: 'inspect',
  summary: 'show everything about one job',
  description:
    'Shows its state, its error, its payload without secrets, the outcomes of its attempts, and what can be done with it. ' +
    'The exit code is 1 if nothing is known about it.',
  examples: [
    ['onqueue inspect 0193a6c1-…', 'a job of the default connection'],
    ['onqueue inspect 0193a6c1-… --queue=mail', 'finds it even among very many waiting jobs'],
    ['onqueue inspect 0193a6c1-… --json', 'for a program'],
  ],
  words: ['<id>', 'the id, as returned by dispatch and shown in log lines'],
  flags: {
    queue: text('<name>', 'its queue (default: searches all queues of the connection)'),
    connection: CONNECTION,
  },
  async run(call) {
    const { flags, output, session } = call;
    const [id = ''] = call.words;
    const { manager, connection } = await openConnection(call);
    const job = await connection.find(id, flags);
    const failure = job.state === 'failed' ? await manager.failed.get(id, { ...flags, queue: job.queue }) : undefined;
    output.result({ ...job, exception: failure?.exception });
    if (job.state === 'unknown' && job.history.length === 0) return call.fail(unknownText(job));
    const where = flags.connection === undefined ? '' : ` --connection=${quoted(connection.name)}`;
    const now = session.surroundings.clock.now();
    for (const [word, fact] of factsOf(job, now)) output.line(`${word.padEnd(12)}${fact}`);
    for (const attempt of job.history) for (const line of attemptLines(attempt)) output.line(line);
    if (failure !== undefined) output.line(`\n${failure.exception}`);
    const commands = NEXT[job.state].map(([command, why]) => `  onqueue ${command} ${quoted(id)}${where}  ${why}`);
    if (commands.length > 0) output.line(['', ...commands].join('\n'));
  },
});

const NEXT: Readonly<Record<FoundJob['state'], readonly (readonly [command: string, why: string])[]>> = {
  ready: [['cancel', 'keeps it from running']],
  delayed: [['cancel', 'keeps it from running']],
  running: [['cancel', 'tells it to stop']],
  failed: [
    ['retry', 'sends it again'],
    ['forget', 'removes it for good'],
  ],
  completed: [],
  unknown: [],
};

function unknownText({ id, connection, isSure }: FoundJob): string {
  if (isSure) return `Nothing is known of a job '${id}' on ${connection}: it has ended, or never existed.`;
  return `No job '${id}' was found on ${connection}, which has too many jobs to search them all. Name its queue: --queue=<name>.`;
}

function* factsOf(job: FoundJob, now: Milliseconds): Iterable<readonly [word: string, fact: string]> {
  const { id, name, connection, queue, attempts, tries, progress, payload, batch } = job;
  if (name !== undefined) yield ['Job', oneLine(name)];
  yield ['Id', oneLine(id)];
  yield ['State', job.state === 'unknown' ? 'ended: not waiting, running or failed' : stateText(job)];
  yield ['On', queue === undefined ? connection : oneLine(`${connection}, queue ${queue}`)];
  if (attempts !== undefined)
    yield ['Attempts', tries === undefined || tries === 0 ? String(attempts) : `${attempts} of ${tries}`];
  const moments = {
    Sent: job.createdAt,
    [job.state === 'running' ? 'Leased till' : 'Ready at']: job.at,
    'Failed at': job.failedAt,
    Completed: job.completedAt,
  };
  for (const [word, moment] of Object.entries(moments)) {
    if (moment === undefined) continue;
    yield [word, moment.getTime() > now ? momentText(moment) : `${momentText(moment)}, ${agoText(moment, now)}`];
  }
  if (batch !== undefined) yield ['Batch', oneLine(batch)];
  if (progress !== undefined) {
    const what = progress.text === undefined ? '' : `, ${oneLine(progress.text)}`;
    yield ['Progress', `${Math.floor(progress.value * 100)}%${what} (${agoText(progress.at, now)})`];
  }
  yield* payloadFacts(payload);
}

const stateText = ({ state, waitsToRunAlone }: FoundJob): string =>
  waitsToRunAlone === true
    ? `${state === 'running' ? 'reserved' : state}: waits to run alone, because its next crash would be its last`
    : state;

function* payloadFacts(payload: unknown): Iterable<readonly [word: string, fact: string]> {
  if (typeof payload === 'string') yield ['Payload', payload];
  if (!isRecord(payload)) return;
  const options = CHOSEN_FIELDS.filter((field) => payload[field] !== undefined);
  if (options.length > 0)
    yield ['Options', oneLine(options.map((field) => `${field} ${JSON.stringify(payload[field])}`).join(', '))];
  yield ['Payload', oneLine(JSON.stringify(payload))];
}

function* attemptLines({ attempt, outcome, at, ms, worker, error, source }: Attempt): Iterable<string> {
  const took = ms === undefined ? '' : ` after ${ms} ms`;
  yield `\nAttempt ${attempt}: ${outcome}${took}, ${momentText(at)}`;
  if (worker !== undefined) yield `  on ${oneLine(worker)}`;
  if (error !== undefined) yield `  ${oneLine(error)}`;
  if (source !== undefined) yield* sourceText(source);
}

function* sourceText({ file, line, from, lines }: SourceLines): Iterable<string> {
  yield `  ${oneLine(file)}:${line}`;
  const width = String(from + lines.length).length;
  for (const [index, code] of lines.entries()) {
    const number = from + index;
    yield `  ${number === line ? '>' : ' '} ${String(number).padStart(width)}  ${oneLine(code.replaceAll('\t', '  '))}`.trimEnd();
  }
}
