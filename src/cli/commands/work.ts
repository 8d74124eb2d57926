/** `work`: runs jobs until it is told to stop, by processes that a supervisor keeps at work, or in this very one. */
import { defineCommand } from '../command';
import { invalidOption } from '../errors';
import { CONNECTION_WORD } from '../named-queues';
import { supervise } from '../supervise';
import { WORK_FLAGS, type WorkFlags } from '../work-flags';

export const work = defineCommand({
  name: 'work',
  summary: 'run jobs until told to stop',
  description:
    'A supervisor starts the processes that run the jobs, and replaces one that dies. ' +
    'SIGTERM, SIGINT and SIGQUIT stop it cleanly: running jobs finish within --grace, the rest go back at no cost in tries. ' +
    'A second signal ends the processes at once; their jobs run again when their leases end.',
  examples: [
    ['onqueue work', 'the default connection and its queue'],
    ['onqueue work redis --queue=high,default', "'high' first"],
    ["onqueue work --require 'dist/jobs/**/*.js'", 'load the jobs from these files'],
    ['onqueue work --concurrency=10 --timeout=2m', 'ten jobs at once'],
    ['onqueue work --processes=4 --memory=512', 'four processes, each replaced when it has grown'],
    ['onqueue work --tries=3 --backoff=10s,1m', 'for jobs that say nothing themselves'],
    ['onqueue work --stop-when-empty', 'until nothing is ready'],
    ['onqueue work --health-port=9000', 'tell an orchestrator how the workers are'],
  ],
  words: CONNECTION_WORD,
  flags: WORK_FLAGS,
  async run({ session, flags, words: [connection] }) {
    const isStartedByUs = flags.fresh !== undefined || flags.processNumber !== undefined;
    const isSupervised = !isStartedByUs && flags.once !== true && flags.supervisor !== false;
    if (!isStartedByUs) refuseIdleFlags(flags, isSupervised);
    if (flags.name !== undefined) session.surroundings.setTitle(titleOf(flags));
    if (isSupervised) return supervise(session, connection, flags);
    // Loaded here, with all that runs jobs: a supervisor runs none.
    const { WorkProcess } = require('../work-process') as typeof import('../work-process');
    await new WorkProcess(session, connection, flags).run();
  },
});

/** What `ps` and `top` show. */
function titleOf({ name, processNumber }: WorkFlags): string {
  return ['onqueue', name, ...(processNumber === undefined ? [] : [processNumber])].join(' ');
}

// A flag without effect is worse than a refusal: its user relies on it.
function refuseIdleFlags({ processes, recycle, healthPort, healthHost, once }: WorkFlags, isSupervised: boolean): void {
  if (healthHost !== undefined && healthPort === undefined) {
    throw invalidOption('--health-host', healthHost, 'It says where --health-port is heard: give that as well.');
  }
  if (isSupervised) return;
  const alone = once === true ? '--once runs one job in this process' : '--no-supervisor means this one process';
  if (processes !== undefined && processes > 1) {
    throw invalidOption('--processes', String(processes), `${alone}: leave one of the two.`);
  }
  if (recycle !== undefined) {
    throw invalidOption('--recycle', String(recycle), `${alone}, which nobody replaces: take --max-time.`);
  }
}
