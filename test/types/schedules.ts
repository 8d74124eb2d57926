/** What must and must not compile where a schedule is declared. Checked by the compiler; never run. */
import { Queue } from '../../src/application/queue';
import { Job } from '../../src/job/job';
import type { JobOptions } from '../../src/job/options';

@Job({ schedule: { cron: '0 3 * * *', timezone: 'Europe/Amsterdam', missed: ['latest', '6h'], overlap: 'allow' } })
export class Nightly extends Job {
  handle(): { readonly late: number } {
    // A job dispatched by hand has no occurrence.
    return { late: Date.now() - (this.job.occurrence?.at.getTime() ?? 0) };
  }
}

@Job()
class Prune extends Job {
  constructor(readonly age: string) {
    super();
  }
}

Queue.schedule(() => new Prune('30d'))
  .weekly('mon')
  .at('03:00')
  .timezone('Europe/Amsterdam')
  .name('prune')
  .missed('latest', '1h')
  .overlap('skip')
  .onQueue('low')
  .onConnection('redis');

declare const maybe: string | undefined;
export const conditional: JobOptions = { schedule: { cron: '0 3 * * *', timezone: maybe, name: undefined } };

// @ts-expect-error -- the class instead of a function that makes the job
Queue.schedule(Prune);
// @ts-expect-error -- a job instead of a function that makes it
Queue.schedule(new Prune('30d'));
// @ts-expect-error -- not a duration
Queue.schedule(() => new Prune('30d')).every('2 weeks');
// @ts-expect-error -- not a day of the week
Queue.schedule(() => new Prune('30d')).weekly('someday');
// @ts-expect-error -- an unknown policy
Queue.schedule(() => new Prune('30d')).missed('never');
// @ts-expect-error -- an unknown option
export const unknownOption: JobOptions = { schedule: { cron: '0 3 * * *', zone: 'UTC' } };
// @ts-expect-error -- the name is said before the options
export const named = Queue.schedules.put('report', { cron: '0 8 * * *', name: 'other' }, new Prune('30d'));
// @ts-expect-error -- a function that makes the job, as Queue.schedule() takes it
export const made = Queue.schedules.put('report', { every: '15m' }, () => new Prune('30d'));
export const removed: Promise<boolean> = Queue.schedules.remove('report');
export async function look(): Promise<Date | undefined> {
  const [first] = await Queue.schedules.list();
  const id: string = await Queue.schedules.run('prune');
  const [soon] = await Queue.schedules.occurrences(id, { from: new Date(0), count: 1 });
  return first?.next ?? soon?.at;
}
