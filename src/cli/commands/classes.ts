/** `classes`: the registered jobs, as `work` also prints them at its start. */
import type { QueueManager } from '../../application/queue-manager';
import { isMinified, relativeFile } from '../../base/class';
import type { Seconds } from '../../base/clock';
import { NOTHING_CHOSEN, type WorkerDefaults } from '../../job/options';
import { resolveRun } from '../../job/resolve-options';
import { destinationOf } from '../../worker/queues';
import { defineCommand } from '../command';
import { HOW_TO_REGISTER } from '../errors';
import { WIDE } from '../list';
import { exactSpanText, type Cell } from '../output';

export const classes = defineCommand({
  name: 'classes',
  summary: 'list the registered job classes, as a worker finds them',
  examples: [
    ['onqueue classes', 'classes imported by onqueue.config.*'],
    ["onqueue classes --require 'dist/jobs/**/*.js'", 'and classes in these files'],
  ],
  flags: { wide: WIDE },
  async run(call) {
    const listed = listedJobs(await call.open());
    call.output.result(listed);
    if (listed.length > 0) call.output.table(JOB_HEADINGS, listed.map(jobRow));
    else if (!call.output.isJson) call.output.note(NO_JOBS);
  },
});

/** The registered jobs, as `work` prints them at its start and `jobs` lists them. */
export interface RegisteredJob {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly connection: string;
  readonly queue: string;
  /** 0: no limit. */
  readonly tries: number;
  /** 0: none. */
  readonly timeout: Seconds;
  /** The class decorated with `@Handles`, if the job does not handle itself. */
  readonly handler: string | undefined;
  readonly file: string | undefined;
}

/** @param worker a worker's flags, for jobs that say nothing themselves */
export function listedJobs(manager: QueueManager, worker: WorkerDefaults = {}): RegisteredJob[] {
  return manager.registry
    .all()
    .map((definition) => {
      const { tries, timeout } = resolveRun({ payload: NOTHING_CHOSEN, definition, worker });
      return {
        name: definition.name,
        aliases: definition.aliases,
        ...destinationOf(manager, definition),
        tries,
        timeout,
        handler: manager.registry.handlerOf(definition.target)?.name,
        file: definition.file === undefined ? undefined : relativeFile(definition.file),
      };
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

export const JOB_HEADINGS = ['job', 'queue', 'tries', 'timeout', 'file'];

export function jobRow({ name, queue, tries, timeout, file }: RegisteredJob): Cell[] {
  const limit = timeout === 0 ? 'none' : exactSpanText(timeout * 1000);
  return [name, queue, tries === 0 ? 'no limit' : String(tries), limit, file];
}

export const NO_JOBS = `No job is registered. ${HOW_TO_REGISTER}`;

/** Undefined if no job name looks as if a minifier made it. */
export function shortNamesRemark({ registry }: QueueManager): string | undefined {
  const jobs = registry.all().filter(({ name, target }) => name === target.name && isMinified(name));
  if (jobs.length === 0) return undefined;
  return (
    `Job names that a minifier may have made: ${jobs.map(({ name }) => name).join(', ')}. The next build may give them to other ` +
    "classes, and waiting jobs would then run as those. Name each job: @Job({ name: 'SendMail' })."
  );
}
