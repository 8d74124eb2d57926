/** What compiles, and what must not, where a schedule is declared. Checked by the compiler; never run. */
import { Queue } from '../../src/application/queue';
import { Job } from '../../src/job/job';
import type { JobOptions } from '../../src/job/options';

@Job({ schedule: { cron: '0 3 * * *', timezone: 'Europe/Amsterdam', missed: ['latest', '6h'], overlap: 'allow' } })
export class Nightly extends Job {
  handle(): { readonly late: number } {
    // Sent by a dispatch, it has none.
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

// @ts-expect-error -- the class in place of a function that makes the job
Queue.schedule(Prune);
// @ts-expect-error -- a job that was made once
Queue.schedule(new Prune('30d'));
// @ts-expect-error -- a span without a unit that there is
Queue.schedule(() => new Prune('30d')).every('2 weeks');
// @ts-expect-error -- no day of a week
Queue.schedule(() => new Prune('30d')).weekly('someday');
// @ts-expect-error -- no policy
Queue.schedule(() => new Prune('30d')).missed('never');
// @ts-expect-error -- an option that there is not
export const unknownOption: JobOptions = { schedule: { cron: '0 3 * * *', zone: 'UTC' } };
export async function look(): Promise<Date | undefined> {
  const [first] = await Queue.schedules.list();
  const id: string = await Queue.schedules.run('prune');
  const [soon] = await Queue.schedules.occurrences(id, { from: new Date(0), count: 1 });
  return first?.next ?? soon?.at;
}
