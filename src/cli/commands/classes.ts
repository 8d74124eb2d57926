/** `classes`: the job classes that are registered. */
import { defineCommand } from '../command';
import { JOB_HEADINGS, jobRow, listedJobs, NO_JOBS } from '../job-list';

export const classes = defineCommand({
  name: 'classes',
  summary: 'show the job classes that are registered, as a worker finds them',
  examples: [
    ['onqueue classes', 'those that onqueue.config.* imports'],
    ["onqueue classes --require 'dist/jobs/**/*.js'", 'and those of these files'],
  ],
  async run(call) {
    const listed = listedJobs(await call.open());
    call.output.result(listed);
    if (listed.length > 0) call.output.table(JOB_HEADINGS, listed.map(jobRow));
    else if (!call.output.isJson) call.output.note(NO_JOBS);
  },
});
