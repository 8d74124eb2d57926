/** `classes`: the registered job classes. */
import { defineCommand } from '../command';
import { JOB_HEADINGS, jobRow, listedJobs, NO_JOBS } from '../job-list';

export const classes = defineCommand({
  name: 'classes',
  summary: 'list the registered job classes, as a worker finds them',
  examples: [
    ['onqueue classes', 'classes imported by onqueue.config.*'],
    ["onqueue classes --require 'dist/jobs/**/*.js'", 'and classes in these files'],
  ],
  async run(call) {
    const listed = listedJobs(await call.open());
    call.output.result(listed);
    if (listed.length > 0) call.output.table(JOB_HEADINGS, listed.map(jobRow));
    else if (!call.output.isJson) call.output.note(NO_JOBS);
  },
});
