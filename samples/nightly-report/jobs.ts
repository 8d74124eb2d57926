/** The jobs of each night and each week. Workers that load this file dispatch them on schedule. */
import { Job, Queue } from 'onqueue';

const reports: string[] = [];

/** Needs no data, so the schedule can stand in its decorator. */
@Job({ schedule: { cron: '30 2 * * *', timezone: 'Europe/Amsterdam', missed: ['latest', '6h'] } })
export class NightlyReport extends Job {
  async handle(): Promise<void> {
    // The moment this run was scheduled for: a late run or a second attempt still reports on the same night.
    const at = this.job.occurrence?.at.toISOString() ?? 'by hand';
    reports.push(at);
    console.log(`report ${reports.length}: ${at}`);
  }
}

@Job()
export class RemoveReports extends Job {
  constructor(readonly keep: number) {
    super();
  }

  async handle(): Promise<void> {
    const removed = reports.splice(0, Math.max(reports.length - this.keep, 0));
    console.log(`removed ${removed.length}, kept ${reports.length}`);
  }
}

Queue.schedule(() => new RemoveReports(2))
  .weekly('mon')
  .at('04:00')
  .timezone('Europe/Amsterdam')
  .name('remove-reports');
