/** `failed`: lists the failed jobs, or shows one of them. */
import { oneLine } from '../../base/plain-text';
import type { ChainedJob } from '../../job/job-context';
import { type Call, defineCommand } from '../command';
import { checkPlace, chosenJobs, type FailedFlags, FILTER_FLAGS, filterOf, listFailed } from '../failed-jobs';
import { LIMIT, LISTED } from '../flags';
import { momentText } from '../moments';
import { openKeeping } from '../named-queues';
import { counted } from '../table';

/** How many links of a chain are named. */
const MOST_NAMED = 10;

export const failed = defineCommand({
  name: 'failed',
  summary: 'list the failed jobs, newest first',
  description:
    'With an id: shows everything about that job, including its payload and its error with the stack. The exit code is 0 even if there are failed jobs; it is 1 if a connection could not be reached, and the others are listed.',
  examples: [
    ['onqueue failed', 'the newest'],
    ['onqueue failed --queue=mail --limit=10', 'from one queue'],
    ['onqueue failed --error=ECONNREFUSED --older-than=1h', 'failures of an outage more than an hour ago'],
    ['onqueue failed --batch=0193a6c1-…', 'of one batch'],
    ['onqueue failed 0193a6c1-…', 'one job, with its stack'],
    ["onqueue failed --json | jq -r '.[].id'", 'for a program'],
  ],
  words: ['[id]', 'show everything about this job'],
  flags: { ...FILTER_FLAGS, limit: LIMIT },
  run(call) {
    const [id] = call.words;
    if (id !== undefined) checkPlace(call);
    return id === undefined ? list(call, call.flags.limit) : show(call, id);
  },
});

async function list(call: Call<FailedFlags>, limit = LISTED): Promise<void> {
  const filter = filterOf(call.flags);
  const manager = await openKeeping(call);
  // One more, to know whether there are more.
  const found = await chosenJobs(call, manager, filter, { offset: 0, limit: limit + 1 });
  const jobs = found.slice(0, limit);
  call.output.result(jobs);
  if (jobs.length > 0) listFailed(call.output, jobs, filter?.batch !== undefined);
  else call.output.line(filter === undefined ? 'No failed jobs.' : 'No failed job matches.');
  if (found.length > limit) call.output.note(`There are more than these ${limit}; raise --limit to see them.`);
}

async function show(call: Call<FailedFlags>, id: string): Promise<void> {
  const manager = await openKeeping(call);
  const job = await manager.failed.get(id, call.flags);
  if (job === undefined) {
    return call.fail(`There is no failed job '${id}'. onqueue failed lists them.`);
  }
  const { name, connection, queue, attempts, failedAt, payload, exception, chain, cause, batch } = job;
  call.output.result(job);
  call.output.line(oneLine(`Job         ${name}`));
  call.output.line(oneLine(`Id          ${id}`));
  call.output.line(oneLine(`From        ${connection}, queue ${queue}`));
  call.output.line(`Failed at   ${momentText(failedAt)}, after ${counted(attempts, 'attempt')}`);
  if (batch !== undefined) call.output.line(oneLine(`Batch       ${batch}`));
  if (cause !== undefined) {
    const { id: failedId, name: failedName, message } = cause;
    call.output.line(oneLine(`Cause       ${failedName} ${failedId} failed: ${message}`));
  }
  if (chain.length > 0) call.output.line(oneLine(`Chain       ${followersText(chain)}`));
  call.output.line(`Payload     ${payload}`);
  call.output.line('');
  call.output.line(exception);
}

function followersText(chain: readonly ChainedJob[]): string {
  const names = chain.slice(0, MOST_NAMED).map(({ name }) => name);
  const more = chain.length > MOST_NAMED ? ` and ${chain.length - MOST_NAMED} more` : '';
  const follow = chain.length === 1 ? 'follows' : 'follow';
  return `${counted(chain.length, 'job')} ${follow} it: ${names.join(', ')}${more}`;
}
