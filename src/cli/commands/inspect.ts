/** `inspect`: everything known about one job. */
import { foldedStack } from '../../base/folded-stack';
import type { Milliseconds } from '../../base/clock';
import type { ChainedJob } from '../../job/job-context';
import { oneLine, shellWord } from '../../base/text';
import { chainOf, fullness, type FoundJob } from '../../operations/found-job';
import type { Attempt, SourceLines } from '../../operations/history/attempt';
import { shownResult } from '../../operations/kept-end';
import { chainedJobOf, type ChainLink } from '../../payload/chain';
import { CHOSEN_FIELDS } from '../../payload/payload-text';
import { isRecord } from '../../payload/values';
import { defineCommand } from '../command';
import { jobText, resultText } from '../decoded-data';
import { CONNECTION, reveal, text } from '../flags';
import { openConnection } from '../named-queues';
import { agoText, counted, momentText } from '../output';

export const inspect = defineCommand({
  name: 'inspect',
  summary: 'show everything about one job',
  description:
    'Shows its state, its error, its data and its result with secrets masked, the outcomes of its attempts, and what can be done with it. ' +
    'The exit code is 1 if nothing is known about it.',
  examples: [
    ['onqueue inspect 0193a6c1-…', 'a job of the default connection'],
    ['onqueue inspect 0193a6c1-… --queue=mail', 'finds it even among very many waiting jobs'],
    ['onqueue inspect 0193a6c1-… --reveal', 'with encrypted and sensitive data in the clear'],
    ['onqueue inspect 0193a6c1-… --json', 'for a program'],
  ],
  words: ['<id>', 'the id, as returned by dispatch and shown in log lines'],
  flags: {
    queue: text('<name>', 'its queue (default: searches all queues of the connection)'),
    connection: CONNECTION,
    reveal: reveal(),
  },
  async run(call) {
    const { flags, output, session } = call;
    const [id = ''] = call.words;
    const { manager, connection } = await openConnection(call);
    const job = await connection.find(id, flags);
    const failure = job.state === 'failed' ? await manager.failed.get(id, { ...flags, queue: job.queue }) : undefined;
    const full = await fullness(manager.driver(connection.name), job);
    const isOver = job.state === 'completed' || job.state === 'unknown';
    const given = isOver ? await shownResult(manager.driver(connection.name), manager, id, flags.reveal) : undefined;
    const { value, types } = given ?? {};
    const result = given?.kind === 'completed' ? { value, types } : undefined;
    output.result({ ...job, exception: failure?.exception, fullness: full, result });
    if (job.state === 'unknown' && job.history.length === 0) return call.fail(unknownText(job));
    const where = flags.connection === undefined ? '' : ` --connection=${shellWord(connection.name)}`;
    const now = session.surroundings.clock.now();
    output.facts(factsOf(job, now, full, jobText(job.payload, manager)));
    if (given?.kind === 'completed') output.facts([['Result', resultText(given, manager)]]);
    if (typeof job.payload === 'string') output.line(`Payload     ${job.payload}`);
    for (const { name, at, ms } of job.steps ?? []) output.line(`✓ ${oneLine(name)}  ${momentText(at)}, took ${ms} ms`);
    for (const { at, text: said } of job.lines ?? []) output.line(`${momentText(at)}  ${oneLine(said)}`);
    for (const attempt of job.history) for (const line of attemptLines(attempt)) output.line(line);
    if (failure !== undefined) output.line(`\n${foldedStack(failure.exception)}`);
    const isKept = job.steps !== undefined;
    const next = NEXT[job.state].filter(([command]) => isKept || !command.endsWith('--from-start'));
    const commands = next.map(([command, why]) => `  onqueue ${command} ${shellWord(id)}${where}  ${why}`);
    if (commands.length > 0) output.line(['', ...commands].join('\n'));
  },
});

const NEXT: Readonly<Record<FoundJob['state'], readonly (readonly [command: string, why: string])[]>> = {
  ready: [['cancel', 'keeps it from running']],
  delayed: [
    ['promote', 'runs it now'],
    ['cancel', 'keeps it from running'],
  ],
  running: [['cancel', 'tells it to stop']],
  failed: [
    ['retry', 'sends it again'],
    ['retry --from-start', 'the same, without the steps that it has done'],
    ['forget', 'removes it for good'],
  ],
  completed: [],
  unknown: [],
};

function unknownText({ id, connection, isSure }: FoundJob): string {
  if (isSure) return `Nothing is known of a job '${id}' on ${connection}: it has ended, or never existed.`;
  return `No job '${id}' was found on ${connection}, which has too many jobs to search them all. Name its queue: --queue=<name>.`;
}

function factsOf(
  job: FoundJob,
  now: Milliseconds,
  full: string | undefined,
  data: string | undefined,
): (readonly [word: string, fact: string | undefined])[] {
  const { id, name, connection, queue, state, attempts, tries = 0, progress, payload, batch } = job;
  const when = (moment: Date | undefined): string | undefined =>
    moment && momentText(moment) + (moment.getTime() > now ? '' : `, ${agoText(moment, now)}`);
  const what = progress?.text === undefined ? '' : `, ${progress.text}`;
  const fields = isRecord(payload) ? payload : undefined;
  const options = CHOSEN_FIELDS.filter((field) => fields?.[field] !== undefined);
  return [
    ['Job', name],
    ['Id', id],
    ['State', state === 'unknown' ? 'ended: not waiting, running or failed' : stateText(job, full)],
    ['On', queue === undefined ? connection : `${connection}, queue ${queue}`],
    ['Attempts', attempts === undefined ? undefined : `${attempts}${tries === 0 ? '' : ` of ${tries}`}`],
    ['Sent', when(job.createdAt)],
    [state === 'running' ? 'Leased till' : 'Ready at', when(job.at)],
    ['Failed at', when(job.failedAt)],
    ['Completed', when(job.completedAt)],
    ['Batch', batch],
    ['Followed by', followersText(job)],
    ['Progress', progress && `${Math.floor(progress.value * 100)}%${what} (${agoText(progress.at, now)})`],
    ['Options', options.map((field) => `${field} ${JSON.stringify(fields?.[field])}`).join(', ') || undefined],
    // Whole where its class is not known: then only the wire form says what it carries.
    [data === undefined ? 'Payload' : 'Data', data ?? (fields && JSON.stringify(fields))],
  ];
}

/** How many jobs of a chain are shown; `--json` has all. */
const MOST = 20;

function followersText(job: FoundJob): string | undefined {
  const { links, caught } = chainOf(job);
  const known = (link: ChainLink): ChainedJob => chainedJobOf(link, job.connection);
  const chain = job.followedBy ?? links.map(known);
  const told = ({ name, queue, connection }: ChainedJob): string =>
    `${name} (${connection === job.connection ? queue : `${connection}, ${queue}`})`;
  const left = chain.length - MOST;
  const names = [...chain.slice(0, MOST).map(told), ...(left > 0 ? [counted(left, 'more job')] : [])].join(', ');
  const aside = caught === undefined ? [] : [`if one fails: ${told(known(caught))}`];
  return [names, ...aside].filter(Boolean).join('; ') || undefined;
}

const stateText = ({ state, waitsToRunAlone }: FoundJob, full: string | undefined): string =>
  waitsToRunAlone === true
    ? `${state === 'running' ? 'reserved' : state}: waits to run alone, because its next crash would be its last`
    : full === undefined
      ? state
      : `${state}, but ${full}`;

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
